// The C++ value type of each element type, and conversions between them.
//
// A value is stored as in a Literal: little-endian, and what is narrower than a byte takes a byte
// (signed integers sign-extended, the rest zero-extended). Every type here has just that size.
#pragma once

#include <bit>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "ir/element_type.h"

namespace minihlo {

/// The value of one element of a float type, exactly. NaN gives NaN with the same sign; requires
/// is_float(type).
double decode_float(ElementType type, const std::byte* element);
/// Writes `value` rounded to nearest even, with the type's own rules for what it can't hold (see
/// MiniFloat). False when `value` is finite and, so rounded, outside the finite range of the type:
/// too large, or for f8e8m0fnu zero or negative; something is written all the same. Requires
/// is_float(type).
bool encode_float(ElementType type, double value, std::byte* element);

/// The value of one element of an integer or pred type; of u64 values that do not fit the largest
/// that does. 0 for other types.
int64_t decode_integer(ElementType type, const std::byte* element);

/// How a float type spends the bit patterns that could be infinities, NaNs and a negative zero.
/// What it can't hold becomes the value on the right.
enum class FloatKind : uint8_t {
  kIeee,    // infinities and NaNs as in IEEE 754         too large: infinity
  kFn,      // no infinity; NaN: all magnitude bits set   too large, infinity: NaN
  kFnuz,    // no infinity; NaN in place of -0            too large, infinity: NaN; -0: +0
  kFinite,  // neither infinity nor NaN                   too large, infinity: max; NaN: -0
  kScale,   // a power of two: only an exponent; NaN: all bits set
            // zero (also what f32 would round to zero, as XLA converts through it), negative,
            // too large, infinity: NaN; else too small: the least
};

namespace internal {

template <class T>
struct IeeeTraits;
template <>
struct IeeeTraits<float> {
  using Bits = uint32_t;
  static constexpr int kMantissaBits = 23;
  static constexpr int kBias = 127;
};
template <>
struct IeeeTraits<double> {
  using Bits = uint64_t;
  static constexpr int kMantissaBits = 52;
  static constexpr int kBias = 1023;
};

}  // namespace internal

/// A float of at most 16 bits. Arithmetic is done on float or double; this only stores.
template <int exponent_bits, int mantissa_bits, int bias, FloatKind kind>
struct MiniFloat {
  static constexpr int kExponentBits = exponent_bits;
  static constexpr int kMantissaBits = mantissa_bits;
  static constexpr int kBias = bias;
  static constexpr FloatKind kKind = kind;
  static constexpr int kMagnitudeBits = exponent_bits + mantissa_bits;
  using Bits = std::conditional_t<(kMagnitudeBits > 8), uint16_t, uint8_t>;

  static constexpr uint32_t kMagnitudeMask = (uint32_t{1} << kMagnitudeBits) - 1;
  static constexpr uint32_t kSignMask = kind == FloatKind::kScale ? 0 : kMagnitudeMask + 1;
  /// The magnitude bits of the largest finite value.
  static constexpr uint32_t kMax =
      kind == FloatKind::kIeee ? (((uint32_t{1} << exponent_bits) - 1) << mantissa_bits) - 1
      : kind == FloatKind::kFn || kind == FloatKind::kScale ? kMagnitudeMask - 1
                                                            : kMagnitudeMask;
  /// All bits of the canonical NaN, or what stands in for it.
  static constexpr uint32_t kNaN =
      kind == FloatKind::kIeee ? (kMax + 1) | (uint32_t{1} << mantissa_bits >> 1)
      : kind == FloatKind::kFnuz || kind == FloatKind::kFinite ? kSignMask
                                                               : kMagnitudeMask;

  Bits bits;

  MiniFloat() = default;
  explicit constexpr MiniFloat(float value) : bits(static_cast<Bits>(encode(value))) {}
  explicit constexpr MiniFloat(double value) : bits(static_cast<Bits>(encode(value))) {}
  static constexpr MiniFloat from_bits(Bits bits) {
    MiniFloat result{};
    result.bits = bits;
    return result;
  }

  /// The value, exactly; a NaN keeps its sign and, where the type has one, its payload.
  explicit constexpr operator float() const { return decode<float>(); }
  explicit constexpr operator double() const { return decode<double>(); }

  /// Whether `value`, finite, is in the finite range once rounded.
  template <class T>
  static constexpr bool in_range(T value) {
    if (kind == FloatKind::kScale && (value < 0 || counts_as_zero(value))) return false;
    return round_magnitude(value) <= kMax;
  }

 private:
  template <class T>
  static constexpr bool counts_as_zero(T value) {
    return (value < 0 ? -value : value) <= static_cast<T>(0x1p-150);
  }

  template <class T>
  static constexpr auto magnitude_bits(T value) {
    using Wide = typename internal::IeeeTraits<T>::Bits;
    return static_cast<Wide>(std::bit_cast<Wide>(value) & (~Wide{0} >> 1));
  }

  /// The magnitude bits of |value| rounded to nearest even as if exponents had no upper bound.
  /// Free of branches, so that loops over it vectorize.
  template <class T>
  static constexpr auto round_magnitude(T value) {
    using Wide = typename internal::IeeeTraits<T>::Bits;
    constexpr int kWideMantissa = internal::IeeeTraits<T>::kMantissaBits;
    constexpr int kRebias = internal::IeeeTraits<T>::kBias - bias;
    constexpr int kShift = kWideMantissa - mantissa_bits;
    const Wide magnitude = magnitude_bits(value);
    // Half way between two powers of two goes up: of their significands, 1 and 2, 2 is even.
    const Wide odd = kind == FloatKind::kScale ? 1 : (magnitude >> kShift) & 1;
    const Wide half = (Wide{1} << (kShift - 1)) - 1;
    const Wide normal = (magnitude + half + odd - (Wide{kRebias} << kWideMantissa)) >> kShift;
    if constexpr (kind == FloatKind::kScale) {
      // Exponent field 0 means 2^-bias here: no denormals, and nothing rounds to less.
      if constexpr (kRebias == 0) {
        return magnitude < (Wide{3} << (kWideMantissa - 2)) ? Wide{0}
               : magnitude < (Wide{1} << kWideMantissa)     ? Wide{1}
                                                            : normal;
      } else {
        return magnitude < (Wide{kRebias} << kWideMantissa) ? Wide{0} : normal;
      }
    } else if constexpr (kRebias == 0) {
      return normal;
    } else {
      // Adding this power of two leaves the rounded denormal in the low bits of the sum.
      constexpr Wide kMagic = Wide{kRebias + kShift + 1} << kWideMantissa;
      const T sum = std::bit_cast<T>(magnitude) + std::bit_cast<T>(kMagic);
      const Wide denormal = std::bit_cast<Wide>(sum) - kMagic;
      return magnitude < (Wide{kRebias + 1} << kWideMantissa) ? denormal : normal;
    }
  }

  template <class T>
  static constexpr auto encode(T value) {
    using Wide = typename internal::IeeeTraits<T>::Bits;
    constexpr Wide kInfinity = std::bit_cast<Wide>(std::numeric_limits<T>::infinity());
    const Wide magnitude = magnitude_bits(value);
    const bool negative = std::bit_cast<Wide>(value) != magnitude;
    const Wide rounded = round_magnitude(value);
    const Wide sign = negative ? kSignMask : 0;
    Wide result = rounded | sign;
    if constexpr (kind == FloatKind::kIeee) {
      result = rounded > kMax ? Wide{kMax + 1} | sign : result;
    } else if constexpr (kind == FloatKind::kFinite) {
      result = rounded > kMax ? Wide{kMax} | sign : result;
    } else {
      result = rounded > kMax ? Wide{kNaN} : result;
    }
    if constexpr (kind == FloatKind::kFnuz) result = rounded == 0 ? Wide{0} : result;
    if constexpr (kind == FloatKind::kScale) {
      result = negative || counts_as_zero(value) ? Wide{kNaN} : result;
    }
    return magnitude > kInfinity ? Wide{kNaN} : result;
  }

  template <class T>
  constexpr T decode() const {
    using Wide = typename internal::IeeeTraits<T>::Bits;
    constexpr int kWideMantissa = internal::IeeeTraits<T>::kMantissaBits;
    constexpr int kRebias = internal::IeeeTraits<T>::kBias - bias;
    constexpr int kShift = kWideMantissa - mantissa_bits;
    constexpr Wide kInfinity = std::bit_cast<Wide>(std::numeric_limits<T>::infinity());
    constexpr Wide kQuietNaN = std::bit_cast<Wide>(std::numeric_limits<T>::quiet_NaN());
    constexpr Wide kWideSign = ~(~Wide{0} >> 1);
    const Wide magnitude = bits & kMagnitudeMask;
    const Wide sign = bits & kSignMask ? kWideSign : 0;
    const Wide shifted = magnitude << kShift;
    Wide wide = shifted + (Wide{kRebias} << kWideMantissa);
    if constexpr (kind == FloatKind::kScale) {
      if constexpr (kRebias == 0) wide = magnitude == 0 ? Wide{1} << (kWideMantissa - 1) : wide;
    } else if constexpr (kRebias != 0) {
      constexpr Wide kLeastNormal = Wide{kRebias + 1} << kWideMantissa;
      const T denormal = std::bit_cast<T>(kLeastNormal + shifted) - std::bit_cast<T>(kLeastNormal);
      wide = magnitude >> mantissa_bits == 0 ? std::bit_cast<Wide>(denormal) : wide;
    }
    if constexpr (kind == FloatKind::kIeee) {
      constexpr Wide kFraction = (Wide{1} << kWideMantissa) - 1;
      wide = magnitude > kMax ? kInfinity | (shifted & kFraction) : wide;
    } else if constexpr (kind == FloatKind::kFnuz) {
      return std::bit_cast<T>(bits == kNaN ? kQuietNaN : wide | sign);
    } else if constexpr (kind != FloatKind::kFinite) {
      wide = magnitude > kMax ? kQuietNaN : wide;
    }
    return std::bit_cast<T>(wide | sign);
  }
};

using F4E2M1FN = MiniFloat<2, 1, 1, FloatKind::kFinite>;
using F6E2M3FN = MiniFloat<2, 3, 1, FloatKind::kFinite>;
using F6E3M2FN = MiniFloat<3, 2, 3, FloatKind::kFinite>;
using F8E3M4 = MiniFloat<3, 4, 3, FloatKind::kIeee>;
using F8E4M3 = MiniFloat<4, 3, 7, FloatKind::kIeee>;
using F8E4M3FN = MiniFloat<4, 3, 7, FloatKind::kFn>;
using F8E4M3B11FNUZ = MiniFloat<4, 3, 11, FloatKind::kFnuz>;
using F8E4M3FNUZ = MiniFloat<4, 3, 8, FloatKind::kFnuz>;
using F8E5M2 = MiniFloat<5, 2, 15, FloatKind::kIeee>;
using F8E5M2FNUZ = MiniFloat<5, 2, 16, FloatKind::kFnuz>;
using F8E8M0FNU = MiniFloat<8, 0, 127, FloatKind::kScale>;
using F16 = MiniFloat<5, 10, 15, FloatKind::kIeee>;
using BF16 = MiniFloat<8, 7, 127, FloatKind::kIeee>;

/// An integer narrower than a byte, wrapped to its width.
template <int width, bool is_signed>
struct NarrowInt {
  using Storage = std::conditional_t<is_signed, int8_t, uint8_t>;
  static constexpr int kBits = width;
  static constexpr bool kSigned = is_signed;
  static constexpr Storage kMin = is_signed ? -(1 << (width - 1)) : 0;
  static constexpr Storage kMax = is_signed ? (1 << (width - 1)) - 1 : (1 << width) - 1;

  Storage value;

  NarrowInt() = default;
  /// The low bits of `wide`.
  template <class T>
  requires std::is_integral_v<T>
  explicit constexpr NarrowInt(T wide)
      : value(static_cast<Storage>(
            static_cast<Storage>(static_cast<uint8_t>(wide) << (8 - width)) >> (8 - width))) {}
  constexpr operator Storage() const { return value; }
};

/// A truth value; a byte that is not 0 or 1 reads as true.
struct Pred {
  uint8_t value;

  Pred() = default;
  /// From bool alone: a number is no truth value.
  constexpr Pred(std::same_as<bool> auto truth) : value(truth) {}
  constexpr operator bool() const { return value != 0; }
};

/// The value type of an element type.
template <ElementType type>
struct ElementValue;
template <ElementType type>
using element_value_t = typename ElementValue<type>::type;

/// The element type of a value type.
template <class T>
struct ElementTypeOf;
template <class T>
inline constexpr ElementType element_type_of = ElementTypeOf<T>::value;

#define MINIHLO_VALUE(element, ...)                            \
  template <>                                                  \
  struct ElementValue<ElementType::element> {                  \
    using type = __VA_ARGS__;                                  \
  };                                                           \
  template <>                                                  \
  struct ElementTypeOf<__VA_ARGS__> {                          \
    static constexpr ElementType value = ElementType::element; \
  };                                                           \
  static_assert(sizeof(__VA_ARGS__) == info(ElementType::element).bytes);
MINIHLO_VALUE(PRED, Pred)
MINIHLO_VALUE(S1, NarrowInt<1, true>)
MINIHLO_VALUE(S2, NarrowInt<2, true>)
MINIHLO_VALUE(S4, NarrowInt<4, true>)
MINIHLO_VALUE(S8, int8_t)
MINIHLO_VALUE(S16, int16_t)
MINIHLO_VALUE(S32, int32_t)
MINIHLO_VALUE(S64, int64_t)
MINIHLO_VALUE(U1, NarrowInt<1, false>)
MINIHLO_VALUE(U2, NarrowInt<2, false>)
MINIHLO_VALUE(U4, NarrowInt<4, false>)
MINIHLO_VALUE(U8, uint8_t)
MINIHLO_VALUE(U16, uint16_t)
MINIHLO_VALUE(U32, uint32_t)
MINIHLO_VALUE(U64, uint64_t)
MINIHLO_VALUE(F4E2M1FN, minihlo::F4E2M1FN)
MINIHLO_VALUE(F6E2M3FN, minihlo::F6E2M3FN)
MINIHLO_VALUE(F6E3M2FN, minihlo::F6E3M2FN)
MINIHLO_VALUE(F8E3M4, minihlo::F8E3M4)
MINIHLO_VALUE(F8E4M3, minihlo::F8E4M3)
MINIHLO_VALUE(F8E4M3FN, minihlo::F8E4M3FN)
MINIHLO_VALUE(F8E4M3B11FNUZ, minihlo::F8E4M3B11FNUZ)
MINIHLO_VALUE(F8E4M3FNUZ, minihlo::F8E4M3FNUZ)
MINIHLO_VALUE(F8E5M2, minihlo::F8E5M2)
MINIHLO_VALUE(F8E5M2FNUZ, minihlo::F8E5M2FNUZ)
MINIHLO_VALUE(F8E8M0FNU, minihlo::F8E8M0FNU)
MINIHLO_VALUE(F16, minihlo::F16)
MINIHLO_VALUE(BF16, minihlo::BF16)
MINIHLO_VALUE(F32, float)
MINIHLO_VALUE(F64, double)
MINIHLO_VALUE(C64, std::complex<float>)
MINIHLO_VALUE(C128, std::complex<double>)
#undef MINIHLO_VALUE

/// Calls `visitor(std::type_identity<T>{})` with the value type of `type` and returns what it
/// returns.
template <class Visitor>
constexpr decltype(auto) dispatch(ElementType type, Visitor&& visitor) {
  switch (type) {
#define ELEMENT_TYPE(name, text, bits, kind) \
  case ElementType::name:                    \
    return visitor(std::type_identity<element_value_t<ElementType::name>>{});
#include "ir/element_types.def"
#undef ELEMENT_TYPE
  }
  __builtin_unreachable();
}

template <class T>
struct IsMiniFloat : std::false_type {};
template <int e, int m, int bias, FloatKind kind>
struct IsMiniFloat<MiniFloat<e, m, bias, kind>> : std::true_type {};

template <class T>
struct IsNarrowInt : std::false_type {};
template <int width, bool is_signed>
struct IsNarrowInt<NarrowInt<width, is_signed>> : std::true_type {};

/// Decodes `count` elements of a float type of at most 16 bits. NaNs keep sign and payload.
void decode_floats(ElementType type, const std::byte* elements, int64_t count, float* values);
/// The other way round, each rounded once, to nearest even.
void encode_floats(ElementType type, const float* values, int64_t count, std::byte* elements);
void encode_floats(ElementType type, const double* values, int64_t count, std::byte* elements);

}  // namespace minihlo
