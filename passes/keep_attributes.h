// What an instruction says of itself, handed on to what takes its place.
#pragma once

#include <span>

#include "ir/instruction.h"

namespace minihlo {

/// Gives `to` the attributes of `from` that any opcode takes (metadata, sharding, frontend
/// attributes, ...), but for control predecessors, and for backend_config, which speaks of an
/// opcode.
void keep_common_attributes(const Instruction& from, Instruction* to);

/// Gives `to` metadata and frontend attributes of `from` where it has none itself.
void keep_description(const Instruction& from, Instruction* to);

/// Lets `to` wait for everything that one of `from` waits for and that is none of them.
void keep_control_predecessors(std::span<Instruction* const> from, Instruction* to);

}  // namespace minihlo
