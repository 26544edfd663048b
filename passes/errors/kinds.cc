#include "passes/errors/kinds.h"

#include <algorithm>

#include "passes/effects.h"

namespace minihlo::errors {
namespace {

using Look = const Instruction&;

template <Opcode opcode>
bool is(Look at) {
  return at.opcode() == opcode;
}
bool has_operands(Look at) { return at.operand_count() > 0; }
bool has_pairs(Look at) { return at.has(attr::source_target_pairs); }
bool has_groups(Look at) { return at.has(attr::replica_groups); }
bool has_window(Look at) { return at.has(attr::window); }
bool waits(Look at) { return at.has(attr::control_predecessors); }
bool has_reducer(Look at) { return at.has(attr::to_apply) && at.opcode() != Opcode::kCall; }
bool is_id(Look at) { return info(at.opcode()).family == Family::kIdentity; }
bool is_elementwise(Look at) { return info(at.opcode()).family == Family::kElementwise; }
bool has_starts(Look at) {
  switch (at.opcode()) {
    case Opcode::kDynamicSlice:
    case Opcode::kDynamicUpdateSlice:
    case Opcode::kGather:
    case Opcode::kScatter:
      return true;
    default:
      return false;
  }
}
bool has_dimensions(Look at) {
  return std::ranges::any_of(at.attributes(),
                             [](const Attribute& one) {
                               return one.size > 0 && info(one.id).kind == AttributeKind::kInts;
                             }) ||
         at.has(attr::iota_dimension) || at.has(attr::feature_index);
}

constexpr Kind kKinds[] = {
    {"axis", "another dimension, or two in another order", has_dimensions, axis},
    {"constant", "one element of a constant has another value", is<Opcode::kConstant>, constant},
    {"direction", "a comparison goes another way", is<Opcode::kCompare>, direction},
    {"dropped-instruction", "an operand stands for the result", has_operands, dropped_instruction},
    {"dropped-member", "a device leaves its group", has_groups, dropped_member},
    {"dropped-pair", "a permute loses a pair", has_pairs, dropped_pair},
    {"group-order", "two devices of a group change ranks", has_groups, group_order},
    {"index-off-by-one", "a start index is one too large", has_starts, index_off_by_one},
    {"loop-bound", "a loop's test is off by one", is<Opcode::kWhile>, loop_bound},
    {"lost-dependency", "a control predecessor is not waited for", waits, lost_dependency},
    {"mode", "channel or global ids come or go, so ids mean other devices", is_exchange, mode},
    {"narrowed", "an operand goes through a narrower type", has_operands, narrowed},
    {"padding", "padding moves from one side to the other", is<Opcode::kPad>, padding},
    {"reducer", "another operation combines elements", has_reducer, reducer},
    {"reversed-pairs", "a permute sends the other way round", has_pairs, reversed_pairs},
    {"slice-bounds", "start and limit of a slice are off by one", is<Opcode::kSlice>, slice_bounds},
    {"swapped-branches", "two branches of a conditional change places", is<Opcode::kConditional>,
     swapped_branches},
    {"swapped-operands", "two operands change places", has_operands, swapped_operands},
    {"tuple-index", "another element of a tuple", is<Opcode::kGetTupleElement>, tuple_index},
    {"window", "the padding of a window moves from one side to the other", has_window, window},
    {"wrong-group", "two devices of different groups change places", has_groups, wrong_group},
    {"wrong-id", "replica-id in place of partition-id, or the other way round", is_id, wrong_id},
    {"wrong-opcode", "another operation of the same kind", is_elementwise, wrong_opcode},
    {"wrong-operand", "another value of the same shape", has_operands, wrong_operand},
    {"wrong-pair", "a permute sends to another device", has_pairs, wrong_pair},
};

}  // namespace

std::span<const Kind> kinds() { return kKinds; }

// splitmix64, by Sebastiano Vigna.
uint64_t Random::next() {
  state_ += 0x9E3779B97F4A7C15u;
  uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

}  // namespace minihlo::errors
