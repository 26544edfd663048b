// Words of HLO text and values of enumerated types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/attributes.h"
#include "ir/proto/schema.h"

namespace minihlo::proto {

std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);

/// How many words an enumerated attribute has.
size_t word_count(AttributeId id);

/// The value of an enumerated type that a word of text means: of the same name, or with the type's
/// name before it (CONVOLUTION_KIND_FPROP).
std::optional<int32_t> number_of_word(EnumId type, std::string_view word);

/// What the names of dot's algorithms have before the words of text.
inline constexpr std::string_view kAlgorithmPrefix = "ALG_";

/// A float is printed as the shortest number that it is the float of; so is it kept.
double shortest_of_float(double value);

}  // namespace minihlo::proto
