// Shardings against the shapes and the number of devices that they split
// (HloSharding::Validate of xla/hlo/ir/hlo_sharding.cc).
#include <algorithm>

#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

using Form = Sharding::Form;

bool is_permutation(std::span<const int64_t> order, size_t rank) {
  if (order.empty()) return rank <= 1;
  std::vector<bool> seen(rank, false);
  for (int64_t axis : order) {
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axis)]) {
      return false;
    }
    seen[static_cast<size_t>(axis)] = true;
  }
  return order.size() == rank;
}

bool is_order(const IotaOrder& iota) {
  return is_permutation(iota.transpose_perm, iota.reshape_dims.size());
}

// Whether two tilings name the same devices. What would be listed at length counts as the same.
bool same_devices(const Sharding& a, const Sharding& b) {
  constexpr int64_t kWorthListing = int64_t{1} << 14;
  auto count = [](const Sharding& one) {
    return one.iota ? one.iota->size() : static_cast<int64_t>(one.devices.size());
  };
  auto list = [](const Sharding& one) {
    if (one.iota) return one.iota->materialize();
    return std::vector<int64_t>(one.devices.begin(), one.devices.end());
  };
  if (count(a) != count(b)) return false;
  if (count(a) > kWorthListing) return true;
  if ((a.iota && !is_order(*a.iota)) || (b.iota && !is_order(*b.iota))) return true;
  return list(a) == list(b);
}

// The kinds of the tile dimensions that split no dimension of the array.
std::vector<Sharding::Subgroup> subgroups(const Sharding& sharding) {
  if (sharding.replicate_last) return {Sharding::Subgroup::kReplicated};
  return {sharding.last_tile_dims.begin(), sharding.last_tile_dims.end()};
}

bool same_iota(const IotaOrder* a, const IotaOrder* b) {
  return a && b && std::ranges::equal(a->reshape_dims, b->reshape_dims) &&
         std::ranges::equal(a->transpose_perm, b->transpose_perm);
}

bool same_sharding(const Sharding& a, const Sharding& b) {
  if (a.form != b.form || a.elements.size() != b.elements.size()) return false;
  switch (a.form) {
    case Form::kMaximal:
      return a.device == b.device;
    case Form::kTiled:
      return std::ranges::equal(a.tile_dims, b.tile_dims) && subgroups(a) == subgroups(b) &&
             (same_iota(a.iota, b.iota) || same_devices(a, b));
    case Form::kTuple:
      for (size_t i = 0; i < a.elements.size(); ++i) {
        if (!same_sharding(*a.elements[i], *b.elements[i])) return false;
      }
      return true;
    case Form::kNamed:
      return a.named == b.named;
    default:
      return true;
  }
}

class Shardings {
 public:
  explicit Shardings(Verification& v) : v_(v) {
    if (v.mesh() && v.mesh()->partitions > 1) devices_ = v.mesh()->partitions;
  }

  void check(const Instruction* instruction) {
    const Sharding* sharding = instruction->get(attr::sharding);
    if (!sharding || instruction->shape()->is_token()) return;
    if (std::string wrong = wrong_with(*sharding, instruction->shape()); !wrong.empty()) {
      v_.error("sharding", instruction, "the sharding of %{} does not fit: {}", instruction->name(),
               wrong);
    }
  }

  // A loop or conditional and what goes into and comes out of its computations is split alike.
  void check_alike(const Instruction* caller,
                   std::initializer_list<const Instruction*> instructions) {
    for (const Instruction* one : instructions) check_alike(caller, one);
    end_of_alike();
  }
  void check_alike(const Instruction* caller, const Instruction* other) {
    if (!other || !other->get(attr::sharding)) return;
    if (!first_) {
      first_ = other;
    } else if (!same_sharding(*first_->get(attr::sharding), *other->get(attr::sharding))) {
      v_.error("sharding", caller, "%{} and %{} of this {} have different shardings",
               first_->name(), other->name(), to_string(caller->opcode()));
    }
  }
  void end_of_alike() { first_ = nullptr; }

 private:
  std::string wrong_with(const Sharding& sharding, const Shape* shape) {
    if (sharding.form != Form::kTuple) return wrong_with_one(sharding, shape);
    if (!shape->is_tuple()) {
      return fmt::format("it lists {} shardings, but {} is no tuple", sharding.elements.size(),
                         to_string(shape, false));
    }
    const auto count = static_cast<size_t>(shape->leaf_count());
    if (count == 0 && sharding.elements.size() <= 1) return "";
    if (count != sharding.elements.size()) {
      return fmt::format("it lists {} shardings, but the shape has {} leaves",
                         sharding.elements.size(), count);
    }
    const std::vector<const Shape*> leaves = leaf_shapes(shape);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (std::string wrong = wrong_with_one(*sharding.elements[i], leaves[i]); !wrong.empty()) {
        return fmt::format("of leaf {}, {}", i, wrong);
      }
    }
    return "";
  }

  std::string wrong_with_one(const Sharding& sharding, const Shape* shape) {
    if (sharding.form == Form::kTuple) return "it is a tuple within a tuple";
    if (shape->is_tuple() && (sharding.form == Form::kTiled || sharding.form == Form::kNamed)) {
      return fmt::format("it is that of one array, but {} is a tuple", to_string(shape, false));
    }
    if (sharding.form == Form::kMaximal) return wrong_with_device(sharding.device);
    if (sharding.form != Form::kTiled) return "";
    if (sharding.iota && !is_order(*sharding.iota)) return "T(...) is no permutation of its axes";
    const int64_t count =
        sharding.iota ? sharding.iota->size() : static_cast<int64_t>(sharding.devices.size());
    for (int64_t device : sharding.devices) {
      if (std::string wrong = wrong_with_device(device); !wrong.empty()) return wrong;
    }
    seen_.assign(sharding.devices.begin(), sharding.devices.end());
    std::ranges::sort(seen_);
    if (auto twice = std::ranges::adjacent_find(seen_); twice != seen_.end()) {
      return fmt::format("it names device {} twice", *twice);
    }
    if (count == 1) return "";
    const int64_t tiled = static_cast<int64_t>(sharding.tile_dims.size()) -
                          (sharding.replicate_last ? 1 : 0) -
                          static_cast<int64_t>(sharding.last_tile_dims.size());
    const int64_t rank = shape->is_array() ? shape->rank() : 0;
    if (tiled != rank) {
      return fmt::format("it tiles {} dimensions, but {} has {}", tiled, to_string(shape, false),
                         rank);
    }
    if (devices_ && count != *devices_) {
      return fmt::format("it names {} devices, but there are {}", count, *devices_);
    }
    return "";
  }

  std::string wrong_with_device(int64_t device) const {
    if (!devices_ || device < *devices_) return "";
    return fmt::format("it names device {}, but there are {}", device, *devices_);
  }

  Verification& v_;
  std::optional<int64_t> devices_;  // nothing where the module does not say how many there are
  std::vector<int64_t> seen_;
  const Instruction* first_ = nullptr;
};

const Instruction* first_parameter(const Computation* computation) {
  return computation->parameters().empty() ? nullptr : computation->parameters()[0];
}

}  // namespace

void check_shardings(Verification& v) {
  if (!v.uses(AttributeId::sharding)) return;
  Shardings shardings(v);
  for (const Computation* computation : v.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!v.is_sound(instruction)) continue;
      shardings.check(instruction);
      if (instruction->opcode() == Opcode::kWhile) {
        const Computation* body = instruction->get(attr::body);
        shardings.check_alike(instruction, {instruction, body->root(), first_parameter(body),
                                            first_parameter(instruction->get(attr::condition))});
      } else if (instruction->opcode() == Opcode::kConditional) {
        shardings.check_alike(instruction, instruction);
        for (const Computation* branch : instruction->called_computations()) {
          shardings.check_alike(instruction, branch->root());
        }
        shardings.end_of_alike();
      }
    }
  }
}

}  // namespace minihlo::verifier
