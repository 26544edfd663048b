// Arithmetic of floats, one instruction after the other, whose values on the way stay in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ir/element_type.h"
#include "ir/opcode.h"

namespace minihlo {

/// A step of a chain: the value so far and another, or that one and the value so far.
struct ChainStep {
  Opcode opcode;
  bool other_first;
  const std::byte* other;  // as many elements as there are of the first; null: the value so far
};

/// Whether a chain can have such a step. Those it has don't look at what a NaN's bits are, so that
/// NaNs need be made the canonical one at the end of the chain alone.
bool has_chain_step(Opcode opcode, ElementType type);

/// Writes what the steps, of which there is one at least, make of `count` elements: the same bits
/// as elementwise_op() gives one by one. `result` may be the memory of any of the operands.
void run_chain(ElementType type, const std::byte* first, std::span<const ChainStep> steps,
               int64_t count, std::byte* result);

}  // namespace minihlo
