#include <algorithm>

#include "ir/numbers.h"
#include "passes/simplify/rules.h"

namespace minihlo::simplify {
namespace {

// The tuple whose elements a tuple lists, all and in order; null: there is none. What is under way
// has parts that mean something only together with where they come from.
Instruction* whole(const Instruction& tuple) {
  if (tuple.operand_count() == 0 || tuple.operand(0)->opcode() != Opcode::kGetTupleElement) {
    return nullptr;
  }
  Instruction* from = tuple.operand(0)->operand(0);
  const Family family = info(from->opcode()).family;
  if (family == Family::kAsync || family == Family::kEffect) return nullptr;
  for (size_t i = 0; i < tuple.operand_count(); ++i) {
    const Instruction* element = tuple.operand(i);
    if (element->opcode() != Opcode::kGetTupleElement || element->operand(0) != from ||
        element->get(attr::index) != static_cast<int64_t>(i)) {
      return nullptr;
    }
  }
  return from;
}

// The branch that a known index chooses: of two, the first for true; of several, the last one for
// whatever is out of range.
std::optional<size_t> known_branch(const Instruction& conditional) {
  const Instruction& index = *conditional.operand(0);
  auto bytes = splat(index);
  if (!bytes || !index.shape()->is_scalar()) return std::nullopt;
  const int64_t value = decode_integer(index.shape()->element_type(), bytes->data());
  const auto branches = static_cast<int64_t>(conditional.operand_count()) - 1;
  if (index.shape()->element_type() == ElementType::PRED) return value != 0 ? 0 : 1;
  return static_cast<size_t>(value < 0 || value >= branches ? branches - 1 : value);
}

}  // namespace

Instruction* structure(Emitter& emit, const Instruction& at) {
  switch (at.opcode()) {
    case Opcode::kGetTupleElement: {
      const Instruction* tuple = at.operand(0);
      if (tuple->opcode() != Opcode::kTuple) return nullptr;
      return same_shape(at, tuple->operand(static_cast<size_t>(at.get(attr::index))));
    }
    case Opcode::kTuple: {
      Instruction* from = whole(at);
      return from ? same_shape(at, from) : nullptr;
    }
    case Opcode::kCopy:
      if (at.has(attr::cross_program_prefetch_index)) return nullptr;
      if (at.operand(0)->shape() == at.shape()) return at.operand(0);
      if (Instruction* inner = operand_of(at, 0, Opcode::kCopy);
          inner && !inner->has(attr::cross_program_prefetch_index)) {
        return emit.make(Opcode::kCopy, {inner->operand(0)}, {}, at.shape());
      }
      return nullptr;
    case Opcode::kConditional: {
      auto branch = known_branch(at);
      if (!branch) return nullptr;
      return emit.make(Opcode::kCall, {at.operand(*branch + 1)},
                       {make_attribute(attr::to_apply, at.called_computations()[*branch])},
                       at.shape());
    }
    default:
      return nullptr;
  }
}

}  // namespace minihlo::simplify
