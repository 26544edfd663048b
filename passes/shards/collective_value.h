// What a collective gives, found again behind the instructions that hand it on.
//
//   %all-gather-start -> all-gather-done -> get-tuple-element -> reshape -> copy -> value
#pragma once

#include <optional>
#include <vector>

#include "ir/instruction.h"

namespace minihlo {

struct CollectiveValue {
  Instruction* collective = nullptr;  // or its start
  Instruction* done = nullptr;        // of a start
  size_t index = 0;                   // which of its results, and so of its operands
  Instruction* result = nullptr;      // the array that it gives: itself, its done, or an element
  /// Reshapes and copies from the result to the value, in this order: all keep the elements in
  /// row-major order. Empty where the value is the result.
  std::vector<Instruction*> views;

  Instruction* operand() const { return collective->operand(index); }
  /// All instructions from the collective to the value, both included.
  std::vector<Instruction*> way() const;
};

/// Follows a value up to the collective `opcode` (all-gather stands for its start as
/// well) whose result it is; nothing where it is none.
std::optional<CollectiveValue> find_collective_value(Instruction* value, Opcode opcode);

/// Whether an instruction keeps its operand's elements in row-major order: a copy, a reshape, or a
/// bitcast where both sides lie in that order.
bool is_view(const Instruction& instruction);

}  // namespace minihlo
