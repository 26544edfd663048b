#include <cstring>

#include "passes/simplify/rules.h"

namespace minihlo::simplify {

std::optional<std::span<const std::byte>> splat(const Instruction& instruction) {
  const Instruction* constant = &instruction;
  if (const Instruction* scalar = repeated_scalar(instruction)) constant = scalar;
  const Literal* literal = constant->get(attr::literal_value);
  if (!literal || !literal->shape->is_array() || !literal->is_known()) return std::nullopt;
  const int64_t count = literal->shape->element_count();
  if (count == 0) return std::nullopt;
  std::span<const std::byte> first = literal->element_bytes(0);
  if (literal->form == Literal::Form::kSplat) return first;
  for (int64_t i = 1; i < count; ++i) {
    if (std::memcmp(literal->element_bytes(i).data(), first.data(), first.size()) != 0) {
      return std::nullopt;
    }
  }
  return first;
}

Instruction* repeated_scalar(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kBroadcast || instruction.has_dynamic_shape() ||
      !instruction.operand(0)->shape()->is_scalar()) {
    return nullptr;
  }
  return instruction.operand(0);
}

Instruction* operand_of(const Instruction& at, size_t i, Opcode opcode) {
  Instruction* operand = at.operand(i);
  return operand->opcode() == opcode && !operand->has_dynamic_shape() ? operand : nullptr;
}

Instruction* repeat(Emitter& emit, Instruction* scalar, const Shape* shape) {
  if (scalar->shape() == shape) return scalar;
  return emit.make(Opcode::kBroadcast, {scalar}, {make_attribute(attr::dimensions, {})}, shape);
}

Instruction* same_shape(const Instruction& at, Instruction* value) {
  return value->shape() == at.shape() ? value : nullptr;
}

}  // namespace minihlo::simplify
