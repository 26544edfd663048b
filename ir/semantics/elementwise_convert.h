// convert: from any type to any other.
#pragma once

#include "ir/semantics/elementwise_arithmetic.h"

namespace minihlo::elementwise {

/// Floats to integers are cut off towards 0 and saturate, NaN to 0; integers wrap; integers to
/// floats round to nearest even; to pred: is it other than 0, which NaN is. A complex number gives
/// its real part to a type that is not complex.
template <class To>
struct Convert {
  template <class From>
  To operator()(From value) const {
    if constexpr (Complex<From> && Complex<To>) {
      return To(value);
    } else if constexpr (Complex<From>) {
      return (*this)(value.real());
    } else if constexpr (Complex<To>) {
      return To(Convert<typename To::value_type>{}(value));
    } else if constexpr (std::same_as<To, Pred>) {
      return value != From{};
    } else if constexpr (std::same_as<From, Pred>) {
      return To(static_cast<int8_t>(value ? 1 : 0));
    } else if constexpr (Real<From> && Integer<To>) {
      return saturated(value);
    } else {
      return static_cast<To>(value);
    }
  }

 private:
  template <Real From>
  static To saturated(From value) {
    using Integer = std::conditional_t<
        (kBitsOf<To> < 32 || (kBitsOf<To> == 32 && SignedInteger<To>)), int32_t,
        std::conditional_t<(kBitsOf<To> == 64 && !SignedInteger<To>), uint64_t, int64_t>>;
    constexpr int kValueBits = kBitsOf<To> - SignedInteger<To>;
    constexpr uint64_t kHalf = uint64_t{1} << (kValueBits > 0 ? kValueBits - 1 : 0);
    constexpr From kEnd = kValueBits == 0 ? From(1) : 2 * static_cast<From>(kHalf);
    constexpr From kLeast = SignedInteger<To> ? -kEnd : From(0);
    constexpr uint64_t kMax = kValueBits == 0 ? 0 : kHalf - 1 + kHalf;
    // Free of branches, and no conversion of what does not fit.
    const bool fits = (value >= kLeast) & (value < kEnd);
    const To inside = To(static_cast<Integer>(fits ? value : From(0)));
    const To beyond = value >= kEnd    ? To(static_cast<Integer>(kMax))
                      : value < kLeast ? To(static_cast<Integer>(kLeast))
                                       : To(Integer{0});
    return fits ? inside : beyond;
  }
};

/// An integer as a double that rounds to any float of at most 16 bits as the integer itself does:
/// bits that a double can't hold are gathered in its last one.
struct ToDoubleForRounding {
  template <Integer From>
  double operator()(From value) const {
    if constexpr (sizeof(From) < 8) {
      return static_cast<double>(value);
    } else {
      const bool negative = value < 0;
      uint64_t magnitude = negative ? 0 - static_cast<uint64_t>(value) : value;
      if (magnitude >> 53 != 0) {
        const bool lost = (magnitude & 0x7ff) != 0;
        magnitude = (magnitude >> 11 | (lost ? 1 : 0)) << 11;
      }
      const auto result = static_cast<double>(magnitude);
      return negative ? -result : result;
    }
  }
};

}  // namespace minihlo::elementwise
