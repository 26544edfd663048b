// Where in the text of a module the instructions stand that a message is about.
#pragma once

#include <string>
#include <string_view>

#include "ir/diagnostics.h"
#include "ir/module.h"

namespace minihlo {

/// `message` with " at FILE:LINE" behind each "%name = opcode" of an instruction of the module, in
/// the text that it was read from, where no other place is said. Lines are looked for when an error
/// is told, so that runs need not know of them. `source` may be null.
std::string with_source_lines(std::string_view message, const Module& module, const Source* source);

}  // namespace minihlo
