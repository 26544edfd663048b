// The rules of algebraic-simplify, in groups. Each looks at one instruction, whose operands are
// simplified already, and gives what may stand in its place: something that is there, or something
// new that it emits. Null: no rule applies. Every rule holds bit for bit, for all values of all
// element types that it is used for.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "passes/emitter.h"

namespace minihlo::simplify {

/// Tuples and their elements, copies, conditionals whose branch is known.
Instruction* structure(Emitter& emit, const Instruction& at);
/// What moves elements, one after the other or in part.
Instruction* movement(Emitter& emit, const Instruction& at);
/// Arithmetic on integers and pred, signs, complex parts, comparisons, select.
Instruction* elementwise(Emitter& emit, const Instruction& at);
/// Conversions of element types, one after the other.
Instruction* conversion(Emitter& emit, const Instruction& at);

/// The value of an array that has the same at each index by what it is: a constant, or a broadcast
/// of a scalar one.
std::optional<std::span<const std::byte>> splat(const Instruction& instruction);
/// The scalar that a broadcast repeats; null for other instructions.
Instruction* repeated_scalar(const Instruction& instruction);
/// Operand `i` where it is of this opcode and nothing about it is dynamic, else null.
Instruction* operand_of(const Instruction& at, size_t i, Opcode opcode);
/// A scalar in each place of a shape.
Instruction* repeat(Emitter& emit, Instruction* scalar, const Shape* shape);
/// The value if it has the very shape of `at`, layout and all, else null.
Instruction* same_shape(const Instruction& at, Instruction* value);

}  // namespace minihlo::simplify
