#include "passes/permute_raising/raise_plan.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "ir/semantics/collective_forms.h"
#include "passes/permute_raising/join_slices.h"
#include "passes/shards/collective_value.h"
#include "passes/shards/shard_slice.h"
#include "passes/users.h"

namespace minihlo {
namespace {

using Slices = std::vector<RaisedSlice>;
using Reason = tl::unexpected<std::string>;

Reason reason(std::string text) { return Reason(std::move(text)); }

// An instruction whose value an array repeats, where it does.
const Instruction* repeated(const Instruction* array) {
  while (array->opcode() == Opcode::kBroadcast) array = array->operand(0);
  return array;
}

class Planner {
 public:
  Planner(const Computation& computation, KnownValues& known, const Mesh& mesh,
          const RefusedGathers& refused)
      : computation_(computation),
        known_(known),
        mesh_(mesh),
        refused_(refused),
        users_(computation) {}

  RaisePlan plan() {
    RaisePlan plan;
    Slices all;
    for (Instruction* instruction : computation_.instructions()) {
      if (collective_opcode(instruction->opcode()) != Opcode::kAllGather) continue;
      auto slices = slices_of(instruction);
      if (slices) {
        std::move(slices->begin(), slices->end(), std::back_inserter(all));
      } else {
        plan.reasons.emplace(instruction, std::move(slices.error()));
      }
    }
    plan.permutes = join_slices(std::move(all), users_);
    std::erase_if(plan.permutes, [&](const RaisedPermute& permute) {
      const RaisedSlice& slice = permute.slices[0];
      const bool is_alone = permute.slices.size() == 1 && slice.is_empty;
      if (is_alone) plan.reasons.emplace(slice.gather, "its result has no elements");
      return is_alone;
    });
    return plan;
  }

 private:
  // All that is done with what an all-gather gives.
  tl::expected<Slices, std::string> slices_of(Instruction* gather) {
    if (gather->has_dynamic_shape()) return reason("it has a dynamic dimension");
    if (auto found = refused_.find(gather); found != refused_.end()) {
      return reason(found->second);
    }
    auto groups = collective_groups(*gather, mesh_);
    if (!groups) return reason(std::move(groups.error()));
    if (!groups->is_uniform() || !groups->covers_mesh()) {
      return reason("its groups are not equal parts of the mesh");
    }
    if (!gathers_one_shard_each(*gather, *groups)) {
      return reason("its result is not one shard from each member");
    }
    Instruction* whole = gather;
    if (gather->opcode() == Opcode::kAllGatherStart) {
      whole = users_.only(*gather);
      if (!whole || whole->opcode() != Opcode::kAllGatherDone) {
        return reason("it has other users than one all-gather-done");
      }
    } else if (users_.is_waited_for(*gather)) {
      return reason("another instruction waits for it");
    }
    // Values still to be followed, each with its operand and the way there.
    struct Way {
      Instruction* value;
      size_t index;
      std::vector<Instruction*> inside;
    };
    std::vector<Way> ways = {{whole, 0, {}}};
    Slices slices;
    while (!ways.empty()) {
      Way way = std::move(ways.back());
      ways.pop_back();
      if (way.value != gather) way.inside.push_back(way.value);
      if (way.value != gather && users_.is_waited_for(*way.value)) {
        return reason(fmt::format("another instruction waits for %{}", way.value->name()));
      }
      if (users_.is_root(*way.value) || users_.of(*way.value).empty()) {
        return reason(fmt::format("%{} is not sliced", way.value->name()));
      }
      for (Instruction* user : users_.of(*way.value)) {
        if (user->opcode() == Opcode::kGetTupleElement && way.value == whole) {
          ways.push_back({user, static_cast<size_t>(user->get(attr::index)), way.inside});
        } else if (is_view(*user) && way.inside.size() < kMaxWay) {
          ways.push_back({user, way.index, way.inside});
        } else if (user->opcode() == Opcode::kDynamicSlice && user->operand(0) == way.value) {
          RaisedSlice slice;
          slice.gather = gather;
          slice.done = whole == gather ? nullptr : whole;
          slice.operand = gather->operand(way.index);
          slice.result = user;
          slice.inside = way.inside;
          auto done = complete(slice, way.index, *groups);
          if (!done) return reason(std::move(done.error()));
          slices.push_back(std::move(slice));
        } else {
          return reason(fmt::format("%{} does not slice what it gathers", user->name()));
        }
      }
    }
    if (slices.size() > 1 && std::ranges::any_of(slices, &RaisedSlice::is_empty)) {
      return reason("its result has no elements");
    }
    return slices;
  }

  // Finds the pairs of a slice, and what belongs to it besides.
  tl::expected<void, std::string> complete(RaisedSlice& made, size_t index,
                                           const CollectiveGroups& groups) {
    const Instruction& gather = *made.gather;
    const Instruction& slice = *made.result;
    const Shape* whole = collective_result_shape(gather);
    if (whole->is_tuple()) whole = whole->element(static_cast<int64_t>(index));
    const int64_t axis = gather.get(attr::dimensions)[0];
    made.is_reshaped = !compatible(slice.shape(), made.operand->shape());
    made.place = place_of(slice, axis);
    const std::vector<bool> received = take_select(made);
    made.is_empty = whole->element_count() == 0;
    if (!made.is_empty) {
      auto places =
          sliced_shards(slice, {whole->dims(), axis, groups.group_size(0)}, known_, mesh_);
      if (!places) return reason(std::move(places.error()));
      std::vector<int64_t> source_of = members_at(groups, *places);
      for (size_t device = 0; device < received.size(); ++device) {
        if (!received[device]) source_of[device] = -1;
      }
      // First as the groups suggest it: where both would do, lowering makes these of it again.
      GroupMode modes[] = {GroupMode::kCrossReplica, GroupMode::kCrossPartition};
      if (gather.has(attr::channel_id)) std::swap(modes[0], modes[1]);
      auto pairs = permute_pairs(source_of, modes[0], mesh_);
      made.mode = modes[0];
      if (!pairs) {
        if (auto others = permute_pairs(source_of, modes[1], mesh_)) {
          pairs = std::move(others);
          made.mode = modes[1];
        }
      }
      if (!pairs) return reason(std::move(pairs.error()));
      made.pairs = *std::move(pairs);
    }
    take_scalar(made);
    return {};
  }

  // What the start along the axis is made of, but for the extent of a shard.
  static const Instruction* place_of(const Instruction& slice, int64_t axis) {
    const auto at = static_cast<size_t>(1 + axis);
    if (at >= slice.operand_count()) return nullptr;
    const Instruction* start = slice.operand(at);
    if (start->opcode() != Opcode::kMultiply) return start;
    const bool is_left = start->operand(1)->opcode() == Opcode::kConstant;
    return start->operand(is_left ? 0 : 1);
  }

  // Where a select keeps the slice on known devices and gives zeros on the others: takes it into
  // the chain and returns which devices keep it, else nothing.
  std::vector<bool> take_select(RaisedSlice& made) {
    Instruction* select = users_.only(*made.result);
    if (!select || select->opcode() != Opcode::kSelect || users_.is_waited_for(*made.result)) {
      return {};
    }
    const bool keeps_true = select->operand(1) == made.result;
    if (select->operand(0) == made.result) return {};
    if (!is_zero(*select->operand(keeps_true ? 2 : 1))) return {};
    std::vector<bool> kept = truths(*select->operand(0));
    if (!keeps_true) kept.flip();
    if (!kept.empty()) extend(made, select);
    return kept;
  }

  // A mask that is one value on each device; nothing where it is not known to be.
  std::vector<bool> truths(const Instruction& mask) {
    const Instruction& value = *repeated(&mask);
    std::vector<bool> result;
    for (int64_t device = 0; device < mesh_.device_count(); ++device) {
      auto bytes = known_.bytes(value, device);
      if (!bytes) return {};
      auto differs = [&](std::byte one) { return one != (*bytes)[0]; };
      if (std::ranges::any_of(*bytes, differs)) return {};
      result.push_back(!bytes->empty() && (*bytes)[0] != std::byte{0});
    }
    return result;
  }

  bool is_zero(const Instruction& array) {
    const Instruction& value = *repeated(&array);
    if (!known_.is_uniform(value)) return false;
    auto bytes = known_.bytes(value, 0);
    return bytes && std::ranges::all_of(*bytes, [](std::byte one) { return one == std::byte{0}; });
  }

  // Where a scalar was gathered as one element: takes its own reshapes into the chain.
  void take_scalar(RaisedSlice& made) {
    Instruction* wide = made.operand;
    Instruction* narrow = users_.only(*made.result);
    if (wide->opcode() != Opcode::kReshape || !wide->operand(0)->shape()->is_scalar()) return;
    if (!narrow || narrow->opcode() != Opcode::kReshape || !narrow->shape()->is_scalar()) return;
    if (users_.is_waited_for(*made.result) || users_.is_waited_for(*wide)) return;
    // One that says something of itself was not made for the all-gather.
    const bool is_silent = std::ranges::all_of(wide->attributes(), [](const Attribute& one) {
      return one.id == AttributeId::control_predecessors;
    });
    if (!is_silent || users_.only(*wide) != made.gather) return;
    made.wide = wide;
    made.operand = wide->operand(0);
    made.is_reshaped = false;
    extend(made, narrow);
  }

  static void extend(RaisedSlice& made, Instruction* result) {
    made.inside.push_back(made.result);
    made.result = result;
  }

  static constexpr size_t kMaxWay = 16;

  const Computation& computation_;
  KnownValues& known_;
  const Mesh mesh_;
  const RefusedGathers& refused_;
  const Users users_;
};

}  // namespace

RaisePlan plan_raising(const Computation& computation, KnownValues& known, const Mesh& mesh,
                       const RefusedGathers& refused) {
  return Planner(computation, known, mesh, refused).plan();
}

}  // namespace minihlo
