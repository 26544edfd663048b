// Parts of a module as text, for minihlo print.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/module.h"
#include "ir/text/printer.h"

namespace minihlo {

/// One computation. Returns what is wrong, or nothing.
std::string print_computation(const Module& module, std::string_view name,
                              const PrintOptions& options, std::string& text);

/// The lines of an instruction and of those that at most `hops` steps lead to, from an instruction
/// to its operands, its users, or those it waits for or that wait for it. Lines that are left out
/// in between are a line "...". Returns what is wrong, or nothing.
std::string print_around(const Module& module, std::string_view name, int64_t hops,
                         const PrintOptions& options, std::string& text);

}  // namespace minihlo
