// add ... power, maximum, clamp, compare: functions of two or three operands on elements.
#pragma once

#include "ir/semantics/elementwise_kernels.h"

namespace minihlo::elementwise {

/// The unsigned type in which an integer's arithmetic wraps without being undefined.
template <Integer T>
using Wrapping = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <Integer T>
constexpr Wrapping<T> wrapping(T value) {
  return static_cast<Wrapping<T>>(value);
}
template <Integer T>
inline constexpr int kBitsOf = info(element_type_of<T>).bits;
/// The value's bits without sign extension.
template <Integer T>
constexpr Wrapping<T> unsigned_bits(T value) {
  return wrapping(value) & (~Wrapping<T>{0} >> (8 * sizeof(Wrapping<T>) - kBitsOf<T>));
}

struct Add {
  static constexpr Opcode kOpcode = Opcode::kAdd;
  Pred operator()(Pred a, Pred b) const { return a || b; }
  template <Integer T>
  T operator()(T a, T b) const {
    return T(wrapping(a) + wrapping(b));
  }
  template <class T>
  requires Real<T> || Complex<T> T operator()(T a, T b) const { return a + b; }
};

struct Subtract {
  static constexpr Opcode kOpcode = Opcode::kSubtract;
  template <Integer T>
  T operator()(T a, T b) const {
    return T(wrapping(a) - wrapping(b));
  }
  template <class T>
  requires Real<T> || Complex<T> T operator()(T a, T b) const { return a - b; }
};

struct Multiply {
  static constexpr Opcode kOpcode = Opcode::kMultiply;
  Pred operator()(Pred a, Pred b) const { return a && b; }
  template <Integer T>
  T operator()(T a, T b) const {
    return T(wrapping(a) * wrapping(b));
  }
  template <Real T>
  T operator()(T a, T b) const {
    return a * b;
  }
  template <Complex T>
  T operator()(T a, T b) const {
    return T(a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real());
  }
};

__extension__ using Int128 = __int128;
__extension__ using UnsignedInt128 = unsigned __int128;

/// The high half of the product in twice the width.
struct Mulhi {
  static constexpr Opcode kOpcode = Opcode::kMulhi;
  template <Integer T>
  T operator()(T a, T b) const {
    if constexpr (sizeof(T) == 8) {
      using Wide = std::conditional_t<SignedInteger<T>, Int128, UnsignedInt128>;
      return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b) >> 64);
    } else {
      using Wide = std::conditional_t<SignedInteger<T>, int64_t, uint64_t>;
      return T(static_cast<Wide>(a) * static_cast<Wide>(b) >> kBitsOf<T>);
    }
  }
};

/// The quotient of complex numbers as C's Annex G wants it: of a number and 0, and of an infinite
/// and a finite number, it is infinite, of a finite and an infinite one 0. Spelt out, so that its
/// bits are no matter of the compiler's library.
std::complex<double> quotient(std::complex<double> a, std::complex<double> b);

/// Truncates; x / 0 has all bits set, and the least value / -1 is itself.
struct Divide {
  static constexpr Opcode kOpcode = Opcode::kDivide;
  template <Integer T>
  T operator()(T a, T b) const {
    if (b == 0) return T(-1);
    if constexpr (SignedInteger<T>) {
      if (b == -1) return T(0 - wrapping(a));
    }
    return T(a / b);
  }
  template <Real T>
  T operator()(T a, T b) const {
    return a / b;
  }
  template <Complex T>
  T operator()(T a, T b) const {
    return T(quotient(std::complex<double>(a), std::complex<double>(b)));
  }
};

/// x - y * trunc(x / y), with the sign of x; x rem 0 is x for integers, NaN for floats.
struct Remainder {
  static constexpr Opcode kOpcode = Opcode::kRemainder;
  template <Integer T>
  T operator()(T a, T b) const {
    if (b == 0) return a;
    if constexpr (SignedInteger<T>) {
      if (b == -1) return T(0);
    }
    return T(a % b);
  }
  template <Real T>
  T operator()(T a, T b) const {
    return std::fmod(a, b);
  }
};

struct Power {
  static constexpr Opcode kOpcode = Opcode::kPower;
  /// Wraps. A negative exponent leaves 1 and -1 their powers and makes the rest 0.
  template <Integer T>
  T operator()(T base, T exponent) const {
    if constexpr (SignedInteger<T>) {
      if (exponent < 0) {
        if (base == 1) return base;
        if (base == -1)
          return unsigned_bits(exponent) & 1 ? base : T(wrapping(base) * wrapping(base));
        return T(0);
      }
    }
    Wrapping<T> result = 1;
    Wrapping<T> square = wrapping(base);
    for (Wrapping<T> rest = unsigned_bits(exponent); rest != 0; rest >>= 1) {
      if (rest & 1) result *= square;
      square *= square;
    }
    return T(result);
  }
  /// C's pow, but x^0 and 1^y are 1 even where the other is a signalling NaN.
  template <Real T>
  T operator()(T base, T exponent) const {
    if (exponent == 0 || base == 1) return 1;
    return static_cast<T>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  template <Complex T>
  T operator()(T base, T exponent) const;
};

/// Of complex numbers -i log((x + iy) / sqrt(x^2 + y^2)).
struct Atan2 {
  static constexpr Opcode kOpcode = Opcode::kAtan2;
  template <Real T>
  T operator()(T y, T x) const {
    return static_cast<T>(std::atan2(static_cast<double>(y), static_cast<double>(x)));
  }
  template <Complex T>
  T operator()(T y, T x) const;
};

/// All bits, which are a NaN, if either is NaN, else none.
template <Real T>
BitsOf<T> all_bits_if_nan(T a, T b) {
  return a != a || b != b ? static_cast<BitsOf<T>>(-1) : BitsOf<T>{0};
}

/// NaN if either is; -0 is less than +0. Of complex numbers, as on XLA's CPU backend, the first
/// unless its real part is less than the other's, or one of them is NaN.
struct Maximum {
  static constexpr Opcode kOpcode = Opcode::kMaximum;
  Pred operator()(Pred a, Pred b) const { return a || b; }
  template <Integer T>
  T operator()(T a, T b) const {
    return a < b ? b : a;
  }
  template <Real T>
  T operator()(T a, T b) const {
    using Bits = BitsOf<T>;
    // Two instructions of most machines. They differ for zeros of different sign, and for NaNs.
    const T first = a > b ? a : b, second = b > a ? b : a;
    const Bits ordered = std::bit_cast<Bits>(first) & std::bit_cast<Bits>(second);
    return std::bit_cast<T>(ordered | all_bits_if_nan(a, b));
  }
  template <Complex T>
  T operator()(T a, T b) const {
    return a.real() >= b.real() ? a : b;
  }
};

struct Minimum {
  static constexpr Opcode kOpcode = Opcode::kMinimum;
  Pred operator()(Pred a, Pred b) const { return a && b; }
  template <Integer T>
  T operator()(T a, T b) const {
    return b < a ? b : a;
  }
  template <Real T>
  T operator()(T a, T b) const {
    using Bits = BitsOf<T>;
    const T first = a < b ? a : b, second = b < a ? b : a;
    const Bits ordered = std::bit_cast<Bits>(first) | std::bit_cast<Bits>(second);
    return std::bit_cast<T>(ordered | all_bits_if_nan(a, b));
  }
  template <Complex T>
  T operator()(T a, T b) const {
    return a.real() <= b.real() ? a : b;
  }
};

/// Bounds that cross give the upper one.
struct Clamp {
  static constexpr Opcode kOpcode = Opcode::kClamp;
  template <class T>
  requires std::invocable<const Maximum&, T, T> T operator()(T low, T value, T high) const {
    return Minimum{}(Maximum{}(low, value), high);
  }
};

/// Integers and pred by value, floats by IEEE 754: nothing but NE holds for a NaN, and -0 = +0.
/// Complex numbers as on XLA's CPU backend: LT and GT by the real part, then the imaginary one, LE
/// and GE by the real part alone.
template <ComparisonDirection direction>
struct Compare {
  template <class T>
  requires Integer<T> || Real<T> || std::same_as<T, Pred> Pred operator()(T a, T b) const {
    using enum ComparisonDirection;
    if constexpr (direction == kEq) return a == b;
    if constexpr (direction == kNe) return a != b;
    if constexpr (direction == kGe) return a >= b;
    if constexpr (direction == kGt) return a > b;
    if constexpr (direction == kLe) return a <= b;
    if constexpr (direction == kLt) return a < b;
  }
  template <Complex T>
  Pred operator()(T a, T b) const {
    using enum ComparisonDirection;
    if constexpr (direction == kEq || direction == kNe) {
      const bool equal = a.real() == b.real() && a.imag() == b.imag();
      return equal == (direction == kEq);
    }
    const bool by_real = Compare{}(a.real(), b.real());
    if constexpr (direction == kGe || direction == kLe) return by_real;
    return a.real() == b.real() ? Compare{}(a.imag(), b.imag()) : Pred(by_real);
  }
};

/// -NaN < -inf < ... < -0 < +0 < ... < inf < NaN, NaNs among themselves by payload. The NaN of an
/// fnuz type has the bits of a negative zero, and is below all.
template <ComparisonDirection direction>
struct CompareTotalOrder {
  template <Real T>
  Pred operator()(T a, T b) const {
    return Compare<direction>{}(rank(a), rank(b));
  }
  template <int exponent, int mantissa, int bias>
  Pred operator()(MiniFloat<exponent, mantissa, bias, FloatKind::kFnuz> a,
                  MiniFloat<exponent, mantissa, bias, FloatKind::kFnuz> b) const {
    const auto value = [](auto element) {
      const float wide(element);
      return wide != wide ? -wide : wide;
    };
    return (*this)(value(a), value(b));
  }

 private:
  template <Real T>
  static auto rank(T value) {
    using Signed = std::make_signed_t<BitsOf<T>>;
    const Signed bits = std::bit_cast<Signed>(value);
    return bits < 0 ? bits ^ std::numeric_limits<Signed>::max() : bits;
  }
};

/// XLA's stochastic rounding to an integer: |x| is cut off and, where `random` is less than the
/// part cut off in units of 2^-bits, one more is added. Infinities and what is too large saturate.
template <SignedInteger Result>
struct StochasticConvert {
  template <Real T, std::unsigned_integral Random>
  Result operator()(T value, Random random) const {
    if (value != value) return Result(0);
    const double magnitude = std::fabs(static_cast<double>(value));
    const bool negative = std::signbit(value);
    const double whole = std::trunc(magnitude);
    const double limit = std::ldexp(1.0, kBitsOf<Result> - 1);
    if (whole >= limit) return Result(limit_of(negative));
    // At most 2^64 - 2^11, and cut off in its turn.
    const auto threshold =
        static_cast<uint64_t>(std::ldexp(magnitude - whole, 8 * static_cast<int>(sizeof(Random))));
    uint64_t count = static_cast<uint64_t>(whole);
    if (random < threshold) ++count;
    if (count >= static_cast<uint64_t>(limit)) return Result(limit_of(negative));
    return Result(negative ? 0 - count : count);
  }

 private:
  static constexpr uint64_t limit_of(bool negative) {
    const uint64_t least = uint64_t{1} << (kBitsOf<Result> - 1);
    return negative ? 0 - least : least - 1;
  }
};

}  // namespace minihlo::elementwise
