// Whole computations: new ones, copies, their order in the module.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/rewriter.h"

namespace minihlo {

/// An empty computation of the module, called `base`, or `base.N` where that is taken. What is made
/// in it by a Rewriter needs set_root() in the end, and the module order_computations().
Computation* new_computation(Module& module, std::string_view base);

/// Copies all instructions of `from` but its parameters to where the rewriter is, under names made
/// of theirs; `arguments`, by number, take the parameters' places. Returns the copy of the root,
/// and in `copies` what each became. The computations that it calls are shared, but for the bodies
/// of fusions, which are copied, as each belongs to one fusion: then the module needs
/// order_computations(). Channel ids stay.
Instruction* copy_into(Rewriter& rewriter, const Computation& from,
                       std::span<Instruction* const> arguments,
                       std::unordered_map<const Instruction*, Instruction*>* copies = nullptr);

/// How many instructions copy_into() makes at most, in bodies of fusions too.
int64_t copied_size(const Computation& from);

/// A scalar computation of two parameters, `opcode` of them: a reducer.
Computation* binary_computation(Module& module, Opcode opcode, ElementType type,
                                std::string_view base);
/// The opcode of a reducer that applies one commutative opcode to its two parameters; nothing
/// where it does anything else.
std::optional<Opcode> reducer_opcode(const Computation& reducer);

/// Puts all computations where they may stand, callees before callers; those that may stay keep
/// their order.
void order_callees_first(Module& module);

/// Puts a computation's instructions where they may stand: operands and control predecessors before
/// those that use them; those that may stay keep their order. Requires that there is no cycle.
void order_operands_first(Computation& computation);

/// By number: whether a computation is what an async-start runs.
std::vector<bool> asynchronous_computations(const Module& module);

/// How often each computation is called, by number; the entry has one more.
std::vector<int64_t> call_counts(const Module& module);

}  // namespace minihlo
