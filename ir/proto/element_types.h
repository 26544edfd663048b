// PrimitiveType of xla_data.proto and the element types of the IR.
#pragma once

#include <optional>

#include "ir/element_type.h"
#include "ir/proto/schema.h"

namespace minihlo::proto {

/// The number of PrimitiveType that means `type`.
int32_t primitive_type(ElementType type);
/// The number of PrimitiveType of this name: "TUPLE".
int32_t primitive_type(std::string_view name);
/// The element type that a number of PrimitiveType means; nothing where it is that of no array.
std::optional<ElementType> element_type(int64_t primitive_type);
/// The field of LiteralProto that holds elements of `type`.
Field literal_field(ElementType type);

}  // namespace minihlo::proto
