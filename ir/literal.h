// Values of constants.
#pragma once

#include <cstddef>
#include <span>

#include "ir/shape.h"

namespace minihlo {

/// An immutable value of a shape. Array elements are row-major whatever the layout of the shape,
/// little-endian, and sub-byte elements take a byte each (signed ones sign-extended).
struct Literal {
  enum class Form : uint8_t {
    kDense,   // `bytes` holds every element
    kSplat,   // `bytes` holds one element, which is the value of all (there is at least one)
    kElided,  // `{...}`: the value is not known; equal to itself alone
    kTuple,   // `elements`
  };

  const Shape* shape = nullptr;
  Form form = Form::kDense;
  std::span<const std::byte> bytes;
  std::span<const Literal* const> elements;

  /// Whether the value is known in full.
  bool is_known() const {
    for (const Literal* element : elements) {
      if (!element->is_known()) return false;
    }
    return form != Form::kElided;
  }

  /// The bytes of element i in row-major order. Requires an array whose value is known.
  std::span<const std::byte> element_bytes(int64_t i) const {
    size_t width = static_cast<size_t>(info(shape->element_type()).bytes);
    return bytes.subspan(form == Form::kSplat ? 0 : static_cast<size_t>(i) * width, width);
  }
};

}  // namespace minihlo
