// Values of enumerated types, and what they are in the IR: words of HLO text, element types.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ir/attributes.h"
#include "ir/element_type.h"
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

/// The number of PrimitiveType that means `type`.
int32_t primitive_type(ElementType type);
/// The number of PrimitiveType of this name: "TUPLE".
int32_t primitive_type(std::string_view name);
/// The element type that a number of PrimitiveType means; nothing where it is that of no array.
std::optional<ElementType> element_type(int64_t primitive_type);
/// The field of LiteralProto that holds elements of `type`.
Field literal_field(ElementType type);

}  // namespace minihlo::proto
