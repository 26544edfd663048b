// In which order, and in which of two forms, things stand in a module's text.
#pragma once

#include <vector>

#include "ir/module.h"
#include "ir/text/printer.h"

namespace minihlo::internal {

/// The order in which XLA prints: the list as it is when it is a schedule, else post_order().
std::vector<const Instruction*> printing_order(const Computation& computation);
/// From each instruction without users, operands first (HloComputation::MakeInstructionPostOrder).
std::vector<const Instruction*> post_order(const Computation& computation);
std::vector<const Computation*> printing_order(const Module& module);

/// Whether an attribute differs from its absence: a default value or an empty text does not.
bool says_something(const Attribute& attribute);

/// Whether the options leave out all attributes of this name.
bool hides(const PrintOptions& options, AttributeId id);

/// The work that an async-start stands for, where X-start can be written for it: its computation
/// is X applied to its own parameters in order, and X has no asynchronous form of its own. What the
/// options hide does not count.
const Instruction* sugared_operation(const Instruction& start, const PrintOptions& options);

}  // namespace minihlo::internal
