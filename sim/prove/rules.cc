#include "sim/prove/rules.h"

#include <algorithm>

#include "ir/semantics/reducers.h"
#include "sim/prove/identities.h"
#include "sim/prove/types.h"

namespace minihlo::prove {
namespace {

// Whether an instruction makes of two NaN that differ in their bits something that differs by more.
bool observes_nan_bits(const Instruction& instruction) {
  const auto has = [](const Instruction* operand) { return has_floats(operand->shape()); };
  if (!std::ranges::any_of(instruction.operands(), has)) return false;
  switch (instruction.opcode()) {
    case Opcode::kBitcast:
      return instruction.shape()->element_type() != instruction.operand(0)->shape()->element_type();
    case Opcode::kBitcastConvert:
    case Opcode::kCustomCall:
    case Opcode::kSort:
    case Opcode::kTopK:
      return true;
    case Opcode::kCompare:
      return instruction.comparison_type() == ComparisonType::kTotalOrder;
    default:
      // What others get to see is all that there is of it.
      return info(instruction.opcode()).family == Family::kEffect ||
             info(instruction.opcode()).family == Family::kCustom;
  }
}

}  // namespace

bool observes_nan_bits(const Module& module) {
  return std::ranges::any_of(module.computations(), [](const Computation* computation) {
    return std::ranges::any_of(computation->instructions(), [](const Instruction* instruction) {
      return observes_nan_bits(*instruction);
    });
  });
}

bool Rules::is_in_any_order(Opcode opcode, ElementType type) const {
  if (is_exact_reduction(opcode, type)) return true;
  return !precision_.rounding && (opcode == Opcode::kAdd || opcode == Opcode::kMultiply) &&
         is_float(type);
}

Rules::Ref Rules::normal(uint32_t function, std::vector<Ref> arguments, TermStore& store) {
  return Identities(*this, store).apply(function, std::move(arguments));
}

}  // namespace minihlo::prove
