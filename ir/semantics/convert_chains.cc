#include "ir/semantics/convert_chains.h"

#include "ir/float_format.h"

namespace minihlo {
namespace {

// Bits of an integer's magnitude; pred is 0 or 1.
int magnitude_bits(ElementType type) {
  if (type == ElementType::PRED) return 1;
  return info(type).bits - (is_signed(type) ? 1 : 0);
}

// A float type holds all integers of so many bits, where its range is no matter; 0: of none.
int integer_bits(ElementType type) {
  return is_float(type) && info(type).bits > 8 ? significand_bits(type) : 0;
}

bool is_discrete(ElementType type) { return type == ElementType::PRED || is_integer(type); }

}  // namespace

bool holds_values(ElementType from, ElementType to) {
  if (is_discrete(from)) {
    if (is_integer(to)) {
      return magnitude_bits(from) <= magnitude_bits(to) && (!is_signed(from) || is_signed(to));
    }
    return integer_bits(to) > 0 && magnitude_bits(from) <= integer_bits(to);
  }
  if (!is_float(from)) return false;
  const bool is_small = info(from).bits <= 8;
  switch (to) {
    case ElementType::F16:
      return is_small && from != ElementType::F8E8M0FNU;
    case ElementType::BF16:
      return is_small;
    case ElementType::F32:
      return is_small || from == ElementType::F16 || from == ElementType::BF16;
    case ElementType::F64:
      return from != ElementType::F64;
    default:
      return false;
  }
}

bool converts_through(ElementType from, ElementType to, ElementType result) {
  // Integers lose their upper bits, sooner or later.
  if (is_integer(from) && is_integer(to) && is_integer(result) &&
      info(result).bits <= info(to).bits) {
    return true;
  }
  if (!holds_values(from, to)) return false;
  // Where nothing is converted in the end, NaN keep their bits and truth values any byte, which
  // they don't on the way through another type.
  if (from == result) return is_integer(from);
  if (is_discrete(from)) {
    // Floats saturate where integers wrap.
    return is_integer(to) || !is_integer(result) || holds_values(from, result);
  }
  // A part of a complex number may have the first type.
  return !is_complex(result);
}

}  // namespace minihlo
