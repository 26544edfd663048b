// Whether a string that the IR keeps as HLO text has it is one that text can hold there.
#pragma once

#include <string_view>

namespace minihlo::internal {

/// Of an instruction or a computation.
bool is_name(std::string_view text);
bool is_module_name(std::string_view text);
/// In front of `=`.
bool is_key(std::string_view text);
/// A word of a list such as operand_precision.
bool is_list_word(std::string_view text);
/// A value such as that of `algorithm`.
bool is_word(std::string_view text);
bool is_dim_labels(std::string_view text);

}  // namespace minihlo::internal
