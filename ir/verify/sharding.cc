// Shardings against the shapes and the number of devices that they split
// (HloSharding::Validate of xla/hlo/ir/hlo_sharding.cc).
#include <algorithm>
#include <map>

#include "ir/verify/split.h"
#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

using Form = Sharding::Form;
using Elements = std::span<const Shape* const>;

// That of leaf i of a value; one that is no tuple is that of every leaf.
const Sharding& leaf(const Sharding& sharding, size_t i) {
  return sharding.form == Form::kTuple ? *sharding.elements[i] : sharding;
}

// Both fit the shapes of values that have as many leaves.
bool same_sharding(const Sharding& a, const Sharding& b) {
  const bool tuples = a.form == Form::kTuple && b.form == Form::kTuple;
  if (tuples && a.elements.size() != b.elements.size()) return false;
  const size_t count = a.form == Form::kTuple   ? a.elements.size()
                       : b.form == Form::kTuple ? b.elements.size()
                                                : 1;
  for (size_t i = 0; i < count; ++i) {
    const Sharding& one = leaf(a, i);
    const Sharding& other = leaf(b, i);
    if (one.form == Form::kTuple || other.form == Form::kTuple) return false;
    if (!same_split(one, other)) return false;
  }
  return true;
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
    } else if (!are_same(first_->get(attr::sharding), other->get(attr::sharding))) {
      v_.error("sharding", caller, "%{} and %{} of this {} have different shardings",
               first_->name(), other->name(), to_string(caller->opcode()));
    }
  }
  void end_of_alike() { first_ = nullptr; }

 private:
  // Many loops may share a body, and long shardings with it: each pair is compared once.
  bool are_same(const Sharding* a, const Sharding* b) {
    auto [known, added] = same_.try_emplace({a, b}, false);
    if (added) known->second = same_sharding(*a, *b);
    return known->second;
  }

  std::string wrong_with(const Sharding& sharding, const Shape* shape) {
    const bool listed = sharding.form == Form::kTuple;
    if (!shape->is_tuple()) {
      if (!listed) return wrong_with_one(sharding, shape);
      return fmt::format("it lists {} shardings, but {} is no tuple", sharding.elements.size(),
                         to_string(shape, false));
    }
    const auto count = static_cast<size_t>(shape->leaf_count());
    if (count == 0 && (!listed || sharding.elements.size() <= 1)) return "";
    if (listed && count != sharding.elements.size()) {
      return fmt::format("it lists {} shardings, but the shape has {} leaves",
                         sharding.elements.size(), count);
    }
    // One that says no more than a kind fits all leaves or none.
    if (!listed && split_of(sharding).whole) return wrong_with_one(sharding, nullptr);
    auto wrong_with_leaf = [&](size_t i, const Shape* leaf_shape) {
      const std::string wrong = wrong_with_one(leaf(sharding, i), leaf_shape);
      return wrong.empty() ? wrong : fmt::format("of leaf {}, {}", i, wrong);
    };
    if (!listed) {
      for (const auto& [i, leaf_shape] : first_leaves(shape)) {
        if (std::string wrong = wrong_with_leaf(i, leaf_shape); !wrong.empty()) return wrong;
      }
      return "";
    }
    const std::vector<const Shape*> leaves = leaf_shapes(shape);
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (std::string wrong = wrong_with_leaf(i, leaves[i]); !wrong.empty()) return wrong;
    }
    return "";
  }

  // Of the leaves of each rank the first, in order, with their positions: nothing else counts where
  // all leaves have one sharding. A few lines can make many leaves, so each part of a shape is
  // looked at once.
  using Leaves = std::vector<std::pair<size_t, const Shape*>>;
  const Leaves& first_leaves(const Shape* shape) {
    if (auto known = first_leaves_.find(shape); known != first_leaves_.end()) return known->second;
    Leaves found;
    if (!shape->is_tuple()) found.emplace_back(0, shape);
    size_t before = 0;
    for (const Shape* element : shape->is_tuple() ? shape->elements() : Elements{}) {
      for (const auto& leaf : first_leaves(element)) {
        const Shape* leaf_shape = leaf.second;
        const bool is_first = std::ranges::none_of(found, [&](const auto& other) {
          return other.second->kind() == leaf_shape->kind() &&
                 other.second->rank() == leaf_shape->rank();
        });
        if (is_first) found.emplace_back(before + leaf.first, leaf_shape);
      }
      before += static_cast<size_t>(element->leaf_count());
    }
    return first_leaves_.emplace(shape, std::move(found)).first->second;
  }

  // The shape counts only where the sharding tiles it.
  std::string wrong_with_one(const Sharding& sharding, const Shape* shape) {
    if (sharding.form == Form::kTuple) return "it is a tuple within a tuple";
    if (!has_sound_order(sharding)) return "T(...) is no permutation of its axes";
    const Split split = split_of(sharding);
    if (split.whole) {
      return *split.whole == Form::kMaximal ? wrong_with_device(split.device) : "";
    }
    for (int64_t device : sharding.devices) {
      if (std::string wrong = wrong_with_device(device); !wrong.empty()) return wrong;
    }
    seen_.assign(sharding.devices.begin(), sharding.devices.end());
    std::ranges::sort(seen_);
    if (auto twice = std::ranges::adjacent_find(seen_); twice != seen_.end()) {
      return fmt::format("it names device {} twice", *twice);
    }
    if (split.devices == 1) {
      // XLA reads a list of one device as {maximal device=N}.
      return sharding.iota ? "it tiles for a single device, as {replicated} would say" : "";
    }
    const auto tiled = static_cast<int64_t>(split.tiles.size());
    const int64_t rank = shape->is_array() ? shape->rank() : 0;
    if (tiled != rank) {
      return fmt::format("it tiles {} dimensions, but {} has {}", tiled, to_string(shape, false),
                         rank);
    }
    if (devices_ && split.devices != *devices_) {
      return fmt::format("it names {} devices, but there are {}", split.devices, *devices_);
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
  std::map<std::pair<const Sharding*, const Sharding*>, bool> same_;
  std::map<const Shape*, Leaves> first_leaves_;
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
