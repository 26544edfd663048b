// What the formats of floats are made of.
#pragma once

#include "ir/element_type.h"

namespace minihlo {

/// Bits of a float's significand, the leading one included: 24 of f32. Of a complex type: of a
/// part.
int significand_bits(ElementType type);

/// The type of the parts of complex numbers; any other type is its own.
constexpr ElementType part_of(ElementType type) {
  if (type == ElementType::C64) return ElementType::F32;
  if (type == ElementType::C128) return ElementType::F64;
  return type;
}

}  // namespace minihlo
