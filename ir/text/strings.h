// Quoted strings and balanced braces of HLO text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "ir/text/text_buffer.h"

namespace minihlo {

/// The offset behind the brace that closes the one at `offset`, or npos where none does. Braces
/// inside double-quoted strings don't count.
size_t end_of_braces(std::string_view text, size_t offset);

/// Whether `text` is one balanced {...}: XLA prints such a string without quotes.
bool is_braced(std::string_view text);

/// Turns C escapes into what they stand for. False when one is malformed.
bool unescape(std::string_view text, std::string& out);
/// Appends `text` with C escapes, as XLA prints it: non-ASCII bytes in octal.
void append_escaped(internal::TextBuffer& out, std::string_view text);
std::string escaped(std::string_view text);

/// The text with A to Z in lower case.
std::string lower_case(std::string_view text);

}  // namespace minihlo
