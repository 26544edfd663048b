// Sets of element types that rules are for.
#pragma once

#include <algorithm>

#include "ir/element_type.h"
#include "ir/shape.h"

namespace minihlo::prove {

enum TypeSet : unsigned {
  kPreds = 1,
  kSignedIntegers = 2,
  kUnsignedIntegers = 4,
  kIntegers = kSignedIntegers | kUnsignedIntegers,
  kNarrowFloats = 8,  // of at most 16 bits, with a sign: computed in f32
  kWideFloats = 16,
  kFloats = kNarrowFloats | kWideFloats,
  kScales = 32,  // f8e8m0fnu, which has neither sign nor zero
  kComplexes = 64,
};

constexpr TypeSet set_of(ElementType type) {
  switch (info(type).kind) {
    case ElementKind::kPred:
      return kPreds;
    case ElementKind::kSigned:
      return kSignedIntegers;
    case ElementKind::kUnsigned:
      return kUnsignedIntegers;
    case ElementKind::kFloat:
      if (type == ElementType::F8E8M0FNU) return kScales;
      return info(type).bits <= 16 ? kNarrowFloats : kWideFloats;
    case ElementKind::kComplex:
      return kComplexes;
  }
  return kPreds;
}

/// Whether a shape has arrays of floats or complex numbers.
inline bool has_floats(const Shape* shape) {
  return std::ranges::any_of(leaf_shapes(shape), [](const Shape* leaf) {
    return leaf->is_array() &&
           (set_of(leaf->element_type()) & (kFloats | kScales | kComplexes)) != 0;
  });
}

}  // namespace minihlo::prove
