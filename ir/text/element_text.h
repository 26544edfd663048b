// Elements of literals as text, one by one: what they are written as, and what a number that was
// read stands for in each element type.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/numbers.h"
#include "ir/text/decimal.h"
#include "ir/text/number_text.h"
#include "ir/text/text_buffer.h"

namespace minihlo::internal {

template <class T>
struct IsComplex : std::false_type {};
template <class T>
struct IsComplex<std::complex<T>> : std::true_type {};

template <class T>
constexpr int mantissa_bits() {
  if constexpr (IsMiniFloat<T>::value) {
    return T::kMantissaBits;
  } else {
    return IeeeTraits<T>::kMantissaBits;
  }
}

// As many significant digits as tell any two values apart: 1 + ceil(precision * log10(2)).
template <class T>
constexpr int max_digits() {
  return 1 + ((mantissa_bits<T>() + 1) * 30103 + 99999) / 100000;
}

// A NaN's payload follows where it is not the one that `nan` stands for.
template <class T>
void append_nan(TextBuffer& out, T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bool negative;
  uint64_t payload = 0;
  uint64_t quiet = 0;
  if constexpr (IsMiniFloat<T>::value) {
    negative = (bits & T::kSignMask) != 0;
    if (T::kKind == FloatKind::kIeee) {
      payload = bits & ((uint64_t{1} << T::kMantissaBits) - 1);
      quiet = uint64_t{1} << T::kMantissaBits >> 1;
    }
  } else {
    negative = std::signbit(value);
    payload = bits & ((uint64_t{1} << mantissa_bits<T>()) - 1);
    quiet = uint64_t{1} << (mantissa_bits<T>() - 1);
  }
  out += negative ? "-nan" : "nan";
  if (payload == quiet) return;
  char digits[20];
  out += "(0x";
  out.append(digits, std::to_chars(digits, digits + sizeof(digits), payload, 16).ptr);
  out += ')';
}

template <class T>
void append_float(TextBuffer& out, T value) {
  const auto wide = static_cast<double>(value);
  if (std::isnan(wide)) return append_nan(out, value);
  if (wide == 0) {
    out += std::signbit(wide) ? "-0.0" : "0";
  } else if (std::isinf(wide)) {
    out += wide < 0 ? "-inf" : "inf";
  } else if constexpr (IsMiniFloat<T>::value) {
    char* to = out.room(kDecimalSize);
    out.commit(write_decimal<max_digits<T>()>(to, static_cast<float>(value)));
  } else {
    out.commit(write_decimal(out.room(kDecimalSize), value));
  }
}

template <class T>
void append_element(TextBuffer& out, const T& value, bool scalar) {
  if constexpr (std::is_same_v<T, Pred>) {
    if (scalar) {
      out += value ? "true" : "false";
    } else {
      out += value ? '1' : '0';
    }
  } else if constexpr (IsComplex<T>::value) {
    out += '(';
    append_float(out, value.real());
    out += ", ";
    append_float(out, value.imag());
    out += ')';
  } else if constexpr (IsMiniFloat<T>::value || std::is_floating_point_v<T>) {
    append_float(out, value);
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    out.commit(write_integer(out.room(kDecimalSize), value));
  } else {
    const auto wide = static_cast<int64_t>(value);
    const bool negative = wide < 0;
    char* to = out.room(kDecimalSize);
    *to = '-';
    to += negative;  // signs are not foreseen, so there is no branch
    const auto bits = static_cast<uint64_t>(wide);
    out.commit(write_integer(to, negative ? 0 - bits : bits));
  }
}

// A NaN of a float type with the sign and payload as written.
template <class T>
Problem make_nan(const Number& number, T& value) {
  if constexpr (IsMiniFloat<T>::value) {
    constexpr uint32_t kFraction = (uint32_t{1} << T::kMantissaBits) - 1;
    uint32_t bits = T::kNaN;
    if constexpr (T::kKind == FloatKind::kIeee) {
      if (number.payload > kFraction) return Problem::kPayload;
      if (number.payload != 0) bits = (bits & ~kFraction) | static_cast<uint32_t>(number.payload);
      if (number.negative) bits |= T::kSignMask;
    } else {
      if (number.payload != 0) return Problem::kPayload;
      if (T::kKind == FloatKind::kFn && number.negative) bits |= T::kSignMask;
      // A type without NaN: XLA makes -0 of nan and 0 of -nan.
      if (T::kKind == FloatKind::kFinite && number.negative) bits = 0;
    }
    value = T::from_bits(static_cast<typename T::Bits>(bits));
  } else {
    using Traits = IeeeTraits<T>;
    using Bits = typename Traits::Bits;
    constexpr Bits kFraction = (Bits{1} << Traits::kMantissaBits) - 1;
    if (number.payload > kFraction) return Problem::kPayload;
    Bits bits = std::bit_cast<Bits>(std::numeric_limits<T>::quiet_NaN());
    if (number.payload != 0) bits = (bits & ~kFraction) | static_cast<Bits>(number.payload);
    if (number.negative) bits |= ~(~Bits{0} >> 1);
    value = std::bit_cast<T>(bits);
  }
  return Problem::kNone;
}

template <class T>
Problem to_float(const Number& number, T& value) {
  if (number.kind == Number::Kind::kNan) return make_nan(number, value);
  const double wide = number.as_double();
  if constexpr (IsMiniFloat<T>::value) {
    constexpr bool kHasInfinity = T::kKind == FloatKind::kIeee;
    if (std::isinf(wide) && !kHasInfinity && T::kKind != FloatKind::kFinite) {
      Number nan;
      nan.negative = wide < 0;
      return make_nan(nan, value);
    }
    double rounded = wide;
    // As in XLA, halves are made of floats: what lies near the middle of two is rounded twice.
    if constexpr (sizeof(T) == 2) rounded = static_cast<double>(static_cast<float>(wide));
    // However small, what is positive is no zero.
    constexpr double kLeast = 0x1p-127;
    if constexpr (T::kKind == FloatKind::kScale) rounded = wide > 0 ? std::max(wide, kLeast) : wide;
    value = T(rounded);
    // A type without infinities and NaNs takes its largest value for what is too large.
    bool fits = T::kKind == FloatKind::kFinite || std::isinf(wide) || T::in_range(rounded);
    return fits ? Problem::kNone : Problem::kOutOfRange;
  } else {
    value = static_cast<T>(wide);
    return std::isinf(value) && !std::isinf(wide) ? Problem::kOutOfRange : Problem::kNone;
  }
}

template <class T>
Problem to_integer(const Number& number, T& value) {
  if (number.kind != Number::Kind::kInteger) return Problem::kNeedsInteger;
  // XLA takes numbers from 2^63 to 2^64-1 as the bits of a signed one, and any for 64-bit types.
  if constexpr (IsNarrowInt<T>::value) {
    value = T(number.integer);
    return static_cast<int64_t>(typename T::Storage(value)) == number.integer
               ? Problem::kNone
               : Problem::kOutOfRange;
  } else {
    value = static_cast<T>(number.integer);
    return sizeof(T) == sizeof(int64_t) || static_cast<int64_t>(value) == number.integer
               ? Problem::kNone
               : Problem::kOutOfRange;
  }
}

}  // namespace minihlo::internal
