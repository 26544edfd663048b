// Functions on the bits of elements: logic, shifts, signs, and what picks parts or moves whole
// values. What acts on floats here takes them as they are stored and keeps NaN payloads.
#pragma once

#include "ir/semantics/elementwise_arithmetic.h"

namespace minihlo::elementwise {

struct And {
  static constexpr Opcode kOpcode = Opcode::kAnd;
  Pred operator()(Pred a, Pred b) const { return a && b; }
  template <Integer T>
  T operator()(T a, T b) const {
    return T(a & b);
  }
};

struct Or {
  static constexpr Opcode kOpcode = Opcode::kOr;
  Pred operator()(Pred a, Pred b) const { return a || b; }
  template <Integer T>
  T operator()(T a, T b) const {
    return T(a | b);
  }
};

struct Xor {
  static constexpr Opcode kOpcode = Opcode::kXor;
  Pred operator()(Pred a, Pred b) const { return a != b; }
  template <Integer T>
  T operator()(T a, T b) const {
    return T(a ^ b);
  }
};

struct Not {
  static constexpr Opcode kOpcode = Opcode::kNot;
  Pred operator()(Pred a) const { return !a; }
  template <Integer T>
  T operator()(T a) const {
    return T(~a);
  }
};

// The amount of a shift is read as unsigned; one of the width or more shifts everything out.

struct ShiftLeft {
  static constexpr Opcode kOpcode = Opcode::kShiftLeft;
  template <Integer T>
  T operator()(T a, T amount) const {
    const auto n = unsigned_bits(amount);
    return n < kBitsOf<T> ? T(wrapping(a) << (n & (8 * sizeof(n) - 1))) : T(0);
  }
};

struct ShiftRightLogical {
  static constexpr Opcode kOpcode = Opcode::kShiftRightLogical;
  template <Integer T>
  T operator()(T a, T amount) const {
    const auto n = unsigned_bits(amount);
    return n < kBitsOf<T> ? T(unsigned_bits(a) >> (n & (8 * sizeof(n) - 1))) : T(0);
  }
};

/// By the top bit of the width, also of an unsigned value.
struct ShiftRightArithmetic {
  static constexpr Opcode kOpcode = Opcode::kShiftRightArithmetic;
  template <Integer T>
  T operator()(T a, T amount) const {
    using Signed = std::make_signed_t<Wrapping<T>>;
    constexpr int kSpare = 8 * sizeof(Signed) - kBitsOf<T>;
    const Signed extended = static_cast<Signed>(wrapping(a) << kSpare) >> kSpare;
    const auto n = unsigned_bits(amount);
    return T(extended >> (n < kBitsOf<T> ? n : kBitsOf<T> - 1));
  }
};

struct PopulationCount {
  static constexpr Opcode kOpcode = Opcode::kPopulationCount;
  template <Integer T>
  T operator()(T a) const {
    return T(std::popcount(unsigned_bits(a)));
  }
};

/// The width for 0.
struct CountLeadingZeros {
  static constexpr Opcode kOpcode = Opcode::kClz;
  template <Integer T>
  T operator()(T a) const {
    return T(std::countl_zero(unsigned_bits(a)) - (8 * int{sizeof(Wrapping<T>)} - kBitsOf<T>));
  }
};

/// The bits of a float as it is stored, and how they read.
template <AnyFloat T>
struct FloatBits;
template <int exponent_bits, int mantissa_bits, int bias, FloatKind kind>
struct FloatBits<MiniFloat<exponent_bits, mantissa_bits, bias, kind>> {
  using T = MiniFloat<exponent_bits, mantissa_bits, bias, kind>;
  using Bits = typename T::Bits;
  static constexpr FloatKind kKind = kind;
  static constexpr int kMantissaBits = mantissa_bits;
  static constexpr int kExponentBits = exponent_bits;
  static constexpr Bits kSign = static_cast<Bits>(T::kSignMask);
};
template <Real T_>
struct FloatBits<T_> {
  using T = T_;
  using Bits = BitsOf<T>;
  static constexpr FloatKind kKind = FloatKind::kIeee;
  static constexpr int kMantissaBits = internal::IeeeTraits<T>::kMantissaBits;
  static constexpr int kExponentBits = 8 * sizeof(T) - 1 - kMantissaBits;
  static constexpr Bits kSign = Bits{1} << (8 * sizeof(T) - 1);
};
template <Real T>
BitsOf<T> float_bits(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}
template <class T>
requires IsMiniFloat<T>::value typename T::Bits float_bits(T value) { return value.bits; }
template <AnyFloat T>
T from_float_bits(typename FloatBits<T>::Bits bits) {
  if constexpr (Real<T>) {
    return std::bit_cast<T>(bits);
  } else {
    return T::from_bits(bits);
  }
}
template <AnyFloat T>
inline constexpr bool kHasSignBit =
    FloatBits<T>::kKind != FloatKind::kFnuz&& FloatBits<T>::kKind != FloatKind::kScale;

/// Floats: flips the sign bit, of a NaN too. A type without -0 keeps zero and NaN, and f8e8m0fnu,
/// which has no negative values, becomes NaN.
struct Negate {
  static constexpr Opcode kOpcode = Opcode::kNegate;
  static constexpr bool kMoves = true;
  template <Integer T>
  T operator()(T a) const {
    return T(0 - wrapping(a));
  }
  template <AnyFloat T>
  T operator()(T a) const {
    using F = FloatBits<T>;
    using Bits = typename F::Bits;
    const Bits bits = float_bits(a);
    if constexpr (F::kKind == FloatKind::kScale) return T::from_bits(T::kNaN);
    const bool flips = kHasSignBit<T> || (bits & static_cast<Bits>(~F::kSign)) != 0;
    return from_float_bits<T>(static_cast<Bits>(flips ? bits ^ F::kSign : bits));
  }
  template <Complex T>
  T operator()(T a) const {
    return T((*this)(a.real()), (*this)(a.imag()));
  }
};

/// Floats: clears the sign bit, of a NaN too, unless that is what makes it one. The least integer
/// stays. Complex: the modulus.
struct Abs {
  static constexpr Opcode kOpcode = Opcode::kAbs;
  static constexpr bool kMoves = true;
  template <SignedInteger T>
  T operator()(T a) const {
    return a < 0 ? T(0 - wrapping(a)) : a;
  }
  template <AnyFloat T>
  T operator()(T a) const {
    using F = FloatBits<T>;
    using Bits = typename F::Bits;
    const Bits bits = float_bits(a);
    const bool clears = kHasSignBit<T> || bits != F::kSign;
    return from_float_bits<T>(static_cast<Bits>(clears ? bits & ~F::kSign : bits));
  }
  template <Complex T>
  typename T::value_type operator()(T a) const {
    using Component = typename T::value_type;
    return canonical(static_cast<Component>(
        std::hypot(static_cast<double>(a.real()), static_cast<double>(a.imag()))));
  }
};

struct RealPart {
  static constexpr Opcode kOpcode = Opcode::kReal;
  static constexpr bool kMoves = true;
  template <AnyFloat T>
  T operator()(T a) const {
    return a;
  }
  template <Complex T>
  typename T::value_type operator()(T a) const {
    return a.real();
  }
};

/// +0 for what is not complex.
struct ImaginaryPart {
  static constexpr Opcode kOpcode = Opcode::kImag;
  static constexpr bool kMoves = true;
  template <AnyFloat T>
  T operator()(T) const {
    return T(0.0f);
  }
  template <Complex T>
  typename T::value_type operator()(T a) const {
    return a.imag();
  }
};

struct MakeComplex {
  static constexpr Opcode kOpcode = Opcode::kComplex;
  static constexpr bool kMoves = true;
  template <Real T>
  std::complex<T> operator()(T real, T imaginary) const {
    return {real, imaginary};
  }
};

/// Every value is left as it is, NaNs with their payload.
struct Select {
  static constexpr bool kMoves = true;
  template <class T>
  T operator()(Pred which, T on_true, T on_false) const {
    return which ? on_true : on_false;
  }
};

struct Move {
  static constexpr bool kMoves = true;
  template <class T>
  T operator()(T a) const {
    return a;
  }
};

struct IsFinite {
  static constexpr Opcode kOpcode = Opcode::kIsFinite;
  template <Real T>
  Pred operator()(T a) const {
    return std::fabs(a) <= std::numeric_limits<T>::max();
  }
};

/// Rounds to a float with narrower fields, keeping the type: the mantissa to nearest even in the
/// grid of the stored bits; beyond the largest exponent to infinity, below the least to a zero of
/// the same sign, so that the narrower type has no denormals. Fields as wide as the type's own are
/// not narrowed. NaN stays NaN.
struct ReducePrecision {
  static constexpr Opcode kOpcode = Opcode::kReducePrecision;
  int exponent_bits;
  int mantissa_bits;

  explicit ReducePrecision(const ElementwiseParameters& parameters)
      : exponent_bits(parameters.exponent_bits), mantissa_bits(parameters.mantissa_bits) {}

  template <AnyFloat T>
  requires(FloatBits<T>::kKind == FloatKind::kIeee) T operator()(T a) const {
    using F = FloatBits<T>;
    using Bits = typename F::Bits;
    using Wide = std::conditional_t<sizeof(Bits) == 8, uint64_t, uint32_t>;
    constexpr Wide kMagnitude = F::kSign - 1;
    constexpr Wide kExponentMax = (Wide{1} << F::kExponentBits) - 1;
    constexpr Wide kInfinity = kExponentMax << F::kMantissaBits;
    constexpr Wide kBias = kExponentMax >> 1;
    const Wide sign = float_bits(a) & F::kSign;
    Wide magnitude = float_bits(a) & kMagnitude;
    if (magnitude > kInfinity) {
      return from_float_bits<T>(static_cast<Bits>(kInfinity | (Wide{1} << F::kMantissaBits >> 1)));
    }
    if (mantissa_bits < F::kMantissaBits) {
      const int dropped = F::kMantissaBits - mantissa_bits;
      const Wide odd = magnitude >> dropped & 1;
      magnitude += (Wide{1} << dropped >> 1) - 1 + odd;
      magnitude = magnitude >> dropped << dropped;
    }
    if (exponent_bits < F::kExponentBits) {
      const Wide bias = (Wide{1} << exponent_bits >> 1) - 1;
      const Wide exponent = magnitude >> F::kMantissaBits;
      if (exponent > kBias + bias) magnitude = kInfinity;
      if (exponent <= kBias - bias) magnitude = 0;
    }
    return from_float_bits<T>(static_cast<Bits>(magnitude | sign));
  }
};

}  // namespace minihlo::elementwise
