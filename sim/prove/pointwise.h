// Functions that work element by element, on terms that are assembled from pieces.
//
// The arguments are cut into boxes on which each is one piece, and in each box the function is
// applied to base tensors as a whole, whatever part of them the box takes:
//
//   add(slice(x), slice(y)), the same slice of both     is   the slice of add(x, y)
//   negate(transpose(x))                                is   the transpose of negate(x)
//
// So functions commute with movement by construction. Where arguments take different parts, the
// function is applied to the parts, with the axes of the box in a canonical order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "sim/prove/rules.h"
#include "sim/prove/terms.h"
#include "sim/run/scalar_program.h"

namespace minihlo::prove {

struct PointFunction {
  uint32_t signature = 0;                // kPointwise or kFold
  ElementType type = ElementType::PRED;  // of the result
  const ScalarProgram* fold = nullptr;   // computes a fold that is no single opcode's
};

/// The term of `function` on arguments of `count` elements each.
Handle apply_pointwise(Terms& terms, Rules& rules, const PointFunction& function,
                       std::span<const Handle> arguments, int64_t count);

/// select(mask, on_true, on_false) where the mask is known: movement. `dims` are the shape's.
/// Nothing where the mask isn't known or the result needs too many pieces.
std::optional<Handle> select_by_known_mask(Terms& terms, Handle mask, Handle on_true,
                                           Handle on_false, std::span<const int64_t> dims);

}  // namespace minihlo::prove
