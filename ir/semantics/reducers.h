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

}  // namespace minihlo
