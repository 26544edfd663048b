// Sets of element types that rules are for.
#pragma once

#include "ir/element_type.h"

namespace minihlo::prove {

enum TypeSet : unsigned {
  kPreds = 1,
  kSignedIntegers = 2,
  kUnsignedIntegers = 4,
  kIntegers = kSignedIntegers | kUnsignedIntegers,
  kFloats = 8,   // those that have a sign
  kScales = 16,  // f8e8m0fnu, which has neither sign nor zero
  kComplexes = 32,
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
      return type == ElementType::F8E8M0FNU ? kScales : kFloats;
    case ElementKind::kComplex:
      return kComplexes;
  }
  return kPreds;
}

}  // namespace minihlo::prove
