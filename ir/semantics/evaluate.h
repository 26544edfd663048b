// What an instruction makes of known operands, where it only moves elements or computes each by
// itself: what constant folding and known values ask.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/instruction.h"
#include "ir/semantics/elementwise.h"

namespace minihlo {

/// The elements of an array, as a Literal stores them, each in its place.
using ElementBytesList = std::vector<std::byte>;

/// All elements of a constant's value; nothing where it is elided or no array, or takes more than
/// `max_bytes`.
std::optional<ElementBytesList> literal_bytes(const Literal& literal, int64_t max_bytes);

/// Elements [begin, end) of an iota, by its operation from s64 (iota_op) to its type.
void fill_iota(const Instruction& iota, const ElementwiseOp& op, int64_t begin, int64_t end,
               std::byte* to);
/// The conversion for it, or why there is none.
tl::expected<ElementwiseOp, std::string> iota_op(const Instruction& iota);

/// Whether evaluate() knows the opcode: constant, iota, get-dimension-size, elementwise opcodes and
/// movement.
bool can_evaluate(const Instruction& instruction);

/// The elements of the result, from those of each operand in the same form, by the rules that the
/// simulator's kernels use. Nothing where the opcode is not one of can_evaluate(), a shape is no
/// array or is dynamic, or the result takes more than `max_bytes`. Requires a verified instruction.
std::optional<ElementBytesList> evaluate(const Instruction& instruction,
                                         std::span<const std::span<const std::byte>> operands,
                                         int64_t max_bytes);

}  // namespace minihlo
