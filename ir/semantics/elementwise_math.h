// Rounding to integers, signs, and the functions of the mathematics library.
#pragma once

#include "ir/semantics/elementwise_arithmetic.h"

namespace minihlo::elementwise {

/// From here on every value is an integer (or not finite).
template <Real T>
inline constexpr T kAllIntegers = T(uint64_t{1} << internal::IeeeTraits<T>::kMantissaBits);

// Rounding to integers is spelt out, since it vectorizes where calls into the mathematics library
// do not. All relies on the rounding mode to nearest even, which nothing here changes. What rounds
// to zero keeps its sign.

struct RoundNearestEven {
  static constexpr Opcode kOpcode = Opcode::kRoundNearestEven;
  template <Real T>
  T operator()(T a) const {
    const T magnitude = std::fabs(a);
    // The sum has no bits left for a fraction.
    const T rounded = std::copysign((magnitude + kAllIntegers<T>)-kAllIntegers<T>, a);
    return magnitude < kAllIntegers<T> ? rounded : a;
  }
};

struct Floor {
  static constexpr Opcode kOpcode = Opcode::kFloor;
  template <Real T>
  T operator()(T a) const {
    const T rounded = RoundNearestEven{}(a);
    return std::copysign(rounded - (rounded > a ? T(1) : T(0)), a);
  }
};

struct Ceil {
  static constexpr Opcode kOpcode = Opcode::kCeil;
  template <Real T>
  T operator()(T a) const {
    const T rounded = RoundNearestEven{}(a);
    return std::copysign(rounded + (rounded < a ? T(1) : T(0)), a);
  }
};

/// Ties go away from zero.
struct RoundNearestAfz {
  static constexpr Opcode kOpcode = Opcode::kRoundNearestAfz;
  template <Real T>
  T operator()(T a) const {
    const T magnitude = std::fabs(a);
    const T whole = Floor{}(magnitude);
    return std::copysign(whole + (magnitude - whole >= T(0.5) ? T(1) : T(0)), a);
  }
};

/// NaN and zeros are their own sign; a complex number's is z / |z|.
struct Sign {
  static constexpr Opcode kOpcode = Opcode::kSign;
  template <SignedInteger T>
  T operator()(T a) const {
    return T((a > 0) - (a < 0));
  }
  template <Real T>
  T operator()(T a) const {
    return a > 0 ? T(1) : a < 0 ? T(-1) : a;
  }
  template <Complex T>
  T operator()(T a) const {
    const std::complex<double> wide(a);
    if (wide == 0.0) return a;
    return T(wide / std::hypot(wide.real(), wide.imag()));
  }
};

struct Sqrt {
  static constexpr Opcode kOpcode = Opcode::kSqrt;
  template <Real T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
  template <Complex T>
  T operator()(T a) const {
    // On the negative axis the root is that from above, whatever the zero's sign, as in XLA.
    const double imag = a.imag();
    return T(std::sqrt(std::complex<double>(a.real(), imag + 0.0)));
  }
};

using Wide = std::complex<double>;

template <class T, class Self>
concept HasComplexValueOf = Complex<T> && requires(T z) {
  Self::value(Wide(z));
};

/// A function given by its `value` on double, and on complex numbers if it takes them: worked out
/// there and rounded once.
template <class Self>
struct InDouble {
  template <Real T>
  T operator()(T a) const {
    return static_cast<T>(Self::value(static_cast<double>(a)));
  }
  template <HasComplexValueOf<Self> T>
  T operator()(T a) const {
    return T(Self::value(Wide(a)));
  }
};

struct Acos : InDouble<Acos> {
  static constexpr Opcode kOpcode = Opcode::kAcos;
  static double value(double x) { return std::acos(x); }
  static Wide value(Wide z) { return std::acos(z); }
};
struct Acosh : InDouble<Acosh> {
  static constexpr Opcode kOpcode = Opcode::kAcosh;
  static double value(double x) { return std::acosh(x); }
  static Wide value(Wide z) { return std::acosh(z); }
};
struct Asin : InDouble<Asin> {
  static constexpr Opcode kOpcode = Opcode::kAsin;
  static double value(double x) { return std::asin(x); }
  static Wide value(Wide z) { return std::asin(z); }
};
struct Asinh : InDouble<Asinh> {
  static constexpr Opcode kOpcode = Opcode::kAsinh;
  static double value(double x) { return std::asinh(x); }
  static Wide value(Wide z) { return std::asinh(z); }
};
struct Atanh : InDouble<Atanh> {
  static constexpr Opcode kOpcode = Opcode::kAtanh;
  static double value(double x) { return std::atanh(x); }
  static Wide value(Wide z) { return std::atanh(z); }
};
struct Cbrt : InDouble<Cbrt> {
  static constexpr Opcode kOpcode = Opcode::kCbrt;
  static double value(double x) { return std::cbrt(x); }
};
struct Cosine : InDouble<Cosine> {
  static constexpr Opcode kOpcode = Opcode::kCos;
  static double value(double x) { return std::cos(x); }
  static Wide value(Wide z) { return std::cos(z); }
};
struct Cosh : InDouble<Cosh> {
  static constexpr Opcode kOpcode = Opcode::kCosh;
  static double value(double x) { return std::cosh(x); }
  static Wide value(Wide z) { return std::cosh(z); }
};
struct Erf : InDouble<Erf> {
  static constexpr Opcode kOpcode = Opcode::kErf;
  static double value(double x) { return std::erf(x); }
};
struct Exponential : InDouble<Exponential> {
  static constexpr Opcode kOpcode = Opcode::kExp;
  static double value(double x) { return std::exp(x); }
  static Wide value(Wide z) { return std::exp(z); }
};
struct ExponentialMinusOne : InDouble<ExponentialMinusOne> {
  static constexpr Opcode kOpcode = Opcode::kExpm1;
  static double value(double x) { return std::expm1(x); }
  static Wide value(Wide z);
};
struct Log : InDouble<Log> {
  static constexpr Opcode kOpcode = Opcode::kLog;
  static double value(double x) { return std::log(x); }
  static Wide value(Wide z) { return std::log(z); }
};
struct LogPlusOne : InDouble<LogPlusOne> {
  static constexpr Opcode kOpcode = Opcode::kLog1p;
  static double value(double x) { return std::log1p(x); }
  static Wide value(Wide z);
};
struct Logistic : InDouble<Logistic> {
  static constexpr Opcode kOpcode = Opcode::kLogistic;
  /// 1 / (1 + e^-x), without overflow on the way.
  static double value(double x) {
    const double e = std::exp(-std::fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
  }
  static Wide value(Wide z) { return quotient(1, 1.0 + std::exp(-z)); }
};
struct Rsqrt : InDouble<Rsqrt> {
  static constexpr Opcode kOpcode = Opcode::kRsqrt;
  static double value(double x) { return 1 / std::sqrt(x); }
  static Wide value(Wide z) { return quotient(1, std::sqrt(z)); }
};
struct Sine : InDouble<Sine> {
  static constexpr Opcode kOpcode = Opcode::kSin;
  static double value(double x) { return std::sin(x); }
  static Wide value(Wide z) { return std::sin(z); }
};
struct Sinh : InDouble<Sinh> {
  static constexpr Opcode kOpcode = Opcode::kSinh;
  static double value(double x) { return std::sinh(x); }
  static Wide value(Wide z) { return std::sinh(z); }
};
struct Tan : InDouble<Tan> {
  static constexpr Opcode kOpcode = Opcode::kTan;
  static double value(double x) { return std::tan(x); }
  static Wide value(Wide z) { return std::tan(z); }
};
struct Tanh : InDouble<Tanh> {
  static constexpr Opcode kOpcode = Opcode::kTanh;
  static double value(double x) { return std::tanh(x); }
  static Wide value(Wide z) { return std::tanh(z); }
};

}  // namespace minihlo::elementwise
