// Operands that take the place of collectives which give each device just its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "passes/pass.h"

namespace minihlo {

/// Puts the first operands, one a result, in the place of collectives, or of starts and their
/// dones: of those that `wants` accepts by their opcode (without start) and about which `work` has
/// nothing to say; else that is why one is left alone. So are starts with other users than a done,
/// results that are not like the operands, what devices in another branch may meet, and the single
/// operation of an asynchronous computation. Where shapes differ in layouts there are copies.
///
/// What waited for the collective waits for the operand and for what the collective waited for. Of
/// its attributes those go that would speak of the operand; a tuple of several keeps them.
void stand_in_for_collectives(Module& module, PassContext& context, std::string_view pass,
                              const std::function<bool(Opcode)>& wants,
                              const std::function<std::string(const Instruction&)>& work);

}  // namespace minihlo
