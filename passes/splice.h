// A copy of a computation in the place of what called it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/rewriter.h"
#include "passes/effects.h"

namespace minihlo {

/// What splice() made.
struct Spliced {
  Instruction* root;  // the value, of the shape that was asked for
  /// Copies of what has effects, in their order.
  std::vector<Instruction*> effects;
  /// All copies that no other copy uses or waits for.
  std::vector<Instruction*> last;
};

/// Why a computation can't be spliced where it is given these operands for a value of shape
/// `result`; empty where it can. Layouts that differ need a copy, which tuples have none of.
std::string splice_obstacle(const Computation& called, std::span<Instruction* const> operands,
                            const Shape* result);

/// Copies the body of `called` to where the rewriter is. Requires that nothing is in the way. What
/// is first in it waits for `before`, as `at` did; the value is given what `at` said of itself,
/// where it says nothing. The module needs order_callees_first() in the end.
Spliced splice(Rewriter& rewriter, const Computation& called,
               std::span<Instruction* const> operands, const Instruction& at,
               std::span<Instruction* const> before, Effects& effects);

/// Lets the copies take the place of the instruction that they were made for.
void replace_by(Rewriter& rewriter, Instruction* at, const Spliced& spliced);

}  // namespace minihlo
