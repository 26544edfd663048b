// What is known of the operations that reductions apply.
#pragma once

#include "ir/element_type.h"
#include "ir/opcode.h"

namespace minihlo {

/// Whether a reduction by this opcode gives the same bits in every order of its elements: nothing
/// rounds, and minimum and maximum are total (docs/numerics.md).
constexpr bool is_exact_reduction(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kMaximum:
    case Opcode::kMinimum:
      return !is_complex(type);
    case Opcode::kAdd:
    case Opcode::kMultiply:
      return is_integer(type) || type == ElementType::PRED;
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return true;
    default:
      return false;
  }
}

/// The type in which a collective adds and multiplies up the elements of its members, to round what
/// comes out once: narrow floats but f16 in f32, as XLA's CPU backend does. Of two members that is
/// what the opcode gives in `type` itself.
constexpr ElementType accumulator_type(Opcode opcode, ElementType type) {
  const bool rounds = opcode == Opcode::kAdd || opcode == Opcode::kMultiply;
  const bool is_narrow = is_float(type) && info(type).bits <= 16 && type != ElementType::F16;
  return rounds && is_narrow ? ElementType::F32 : type;
}

}  // namespace minihlo
