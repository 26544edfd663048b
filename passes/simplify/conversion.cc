#include "ir/semantics/convert_chains.h"
#include "passes/simplify/rules.h"

namespace minihlo::simplify {

Instruction* conversion(Emitter& emit, const Instruction& at) {
  if (at.opcode() == Opcode::kBitcastConvert) {
    if (Instruction* same = same_shape(at, at.operand(0))) return same;
    const Instruction* inner = operand_of(at, 0, Opcode::kBitcastConvert);
    if (!inner) return nullptr;
    const ElementType from = inner->operand(0)->shape()->element_type();
    const int bits = info(from).bits;
    if (info(inner->shape()->element_type()).bits != bits ||
        info(at.shape()->element_type()).bits != bits) {
      return nullptr;
    }
    if (from == at.shape()->element_type()) return same_shape(at, inner->operand(0));
    return emit.make(Opcode::kBitcastConvert, {inner->operand(0)}, {}, at.shape());
  }
  if (at.opcode() != Opcode::kConvert) return nullptr;
  if (Instruction* same = same_shape(at, at.operand(0))) return same;
  const Instruction* inner = operand_of(at, 0, Opcode::kConvert);
  if (!inner) return nullptr;
  Instruction* from = inner->operand(0);
  if (!converts_through(from->shape()->element_type(), inner->shape()->element_type(),
                        at.shape()->element_type())) {
    return nullptr;
  }
  if (from->shape()->element_type() == at.shape()->element_type()) return same_shape(at, from);
  return emit.make(Opcode::kConvert, {from}, {}, at.shape());
}

}  // namespace minihlo::simplify
