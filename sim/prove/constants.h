// Constants that rules know and make: numbers of a type as its bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "ir/element_type.h"
#include "ir/float_format.h"
#include "ir/numbers.h"

namespace minihlo::prove {

/// The bytes of one value.
struct Constant {
  std::array<std::byte, 16> bytes{};
  size_t size = 0;
  std::span<const std::byte> span() const { return std::span(bytes).first(size); }
};

/// Bits of a value of an integer type or pred, which has one.
inline int value_bits(ElementType type) { return type == ElementType::PRED ? 1 : info(type).bits; }
inline uint64_t all_ones(ElementType type) { return ~uint64_t{0} >> (64 - value_bits(type)); }

/// The bits of an integer or truth value, zero-extended.
inline uint64_t bits_of(ElementType type, std::span<const std::byte> value) {
  uint64_t bits = 0;
  std::memcpy(&bits, value.data(), value.size());
  return bits & all_ones(type);
}

/// The integer or truth value with these bits; more significant ones are dropped.
inline Constant integer_constant(ElementType type, uint64_t bits) {
  Constant made{{}, static_cast<size_t>(info(type).bytes)};
  bits &= all_ones(type);
  const uint64_t sign = uint64_t{1} << (value_bits(type) - 1);
  if (is_signed(type) && (bits & sign) != 0) bits |= ~all_ones(type);
  std::memcpy(made.bytes.data(), &bits, made.size);
  return made;
}

/// A float that the type holds exactly.
inline Constant float_constant(ElementType type, double value) {
  Constant made{{}, static_cast<size_t>(info(type).bytes)};
  encode_float(type, value, made.bytes.data());
  return made;
}

inline bool has_negative_zero(ElementType type) {
  const Constant zero = float_constant(type, -0.0);
  return std::ranges::any_of(zero.span(), [](std::byte byte) { return byte != std::byte{0}; });
}
inline bool has_nan(ElementType type) {
  return std::isnan(decode_float(type, float_constant(type, std::nan("")).bytes.data()));
}
inline bool has_infinity(ElementType type) {
  return std::isinf(decode_float(type, float_constant(type, HUGE_VAL).bytes.data()));
}

/// Whether the type holds a number up to its last place: it is neither too large nor too small.
inline bool holds_rounded(ElementType type, double value) {
  const double own = decode_float(type, float_constant(type, value).bytes.data());
  return std::isfinite(own) &&
         std::abs(own - value) <= std::ldexp(std::abs(value), -significand_bits(type));
}

}  // namespace minihlo::prove
