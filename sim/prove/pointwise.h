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
#include <set>
#include <span>
#include <string_view>

#include "ir/semantics/elementwise.h"
#include "sim/prove/terms.h"
#include "sim/run/scalar_program.h"

namespace minihlo::prove {

/// The names of the rules that a proof used (docs/prover.md explains each).
using RuleNames = std::set<std::string_view>;

struct PointFunction {
  uint32_t signature = 0;                // kPointwise or kFold
  ElementType type = ElementType::PRED;  // of the result
  std::optional<Opcode> opcode;          // where it is one elementwise opcode: what rules go by
  const ElementwiseOp* op = nullptr;     // computes it, or
  const ScalarProgram* fold = nullptr;   // computes it by folding all arguments from the left
};

/// The term of `function` on arguments of `count` elements each.
Handle apply_pointwise(Terms& terms, RuleNames& rules, const PointFunction& function,
                       std::span<const Handle> arguments, int64_t count);

/// select(mask, on_true, on_false) where the mask is known: movement. `dims` are the shape's.
/// Nothing where the mask isn't known or the result needs too many pieces.
std::optional<Handle> select_by_known_mask(Terms& terms, Handle mask, Handle on_true,
                                           Handle on_false, std::span<const int64_t> dims);

/// The argument that the function's value is equal to, bit for bit, given arguments of which some
/// are known scalars (the others null): x + 0, x & ~0, ... of integers and pred. -1: none.
int neutral_argument(const PointFunction& function, ElementType argument_type,
                     std::span<const std::optional<std::span<const std::byte>>> known,
                     RuleNames& rules);

}  // namespace minihlo::prove
