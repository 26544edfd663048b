#include "passes/simplify/rules.h"

namespace minihlo::simplify {
namespace {

// Bits of an integer's magnitude; pred is 0 or 1.
int magnitude_bits(ElementType type) {
  if (type == ElementType::PRED) return 1;
  return info(type).bits - (is_signed(type) ? 1 : 0);
}

// A float type holds all integers of so many bits; 0: of none.
int integer_bits(ElementType type) {
  switch (type) {
    case ElementType::F16:
      return 11;
    case ElementType::BF16:
      return 8;
    case ElementType::F32:
      return 24;
    case ElementType::F64:
      return 53;
    default:
      return 0;
  }
}

bool is_discrete(ElementType type) { return type == ElementType::PRED || is_integer(type); }

bool holds(ElementType from, ElementType to) {
  if (is_discrete(from)) {
    if (is_integer(to)) {
      return magnitude_bits(from) <= magnitude_bits(to) && (!is_signed(from) || is_signed(to));
    }
    return integer_bits(to) > 0 && magnitude_bits(from) <= integer_bits(to);
  }
  if (!is_float(from)) return false;
  const bool is_small = info(from).bits <= 8;
  switch (to) {
    case ElementType::F16:
      return is_small && from != ElementType::F8E8M0FNU;
    case ElementType::BF16:
      return is_small;
    case ElementType::F32:
      return is_small || from == ElementType::F16 || from == ElementType::BF16;
    case ElementType::F64:
      return from != ElementType::F64;
    default:
      return false;
  }
}

}  // namespace

bool converts_through(ElementType from, ElementType to, ElementType result) {
  if (!holds(from, to)) return false;
  // Where nothing is converted in the end, NaN keep their bits and truth values any byte, which
  // they don't on the way through another type.
  if (from == result) return is_integer(from);
  if (is_discrete(from)) {
    // Floats saturate where integers wrap.
    return is_integer(to) || !is_integer(result) || holds(from, result);
  }
  // A part of a complex number may have the first type.
  return !is_complex(result);
}

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
