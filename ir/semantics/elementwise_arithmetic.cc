#include "ir/semantics/elementwise_arithmetic.h"

namespace minihlo::elementwise {

std::complex<double> quotient(std::complex<double> a, std::complex<double> b) {
  // The divisor's larger part is scaled to about 1, so that its square is in range.
  const double larger = std::fmax(std::fabs(b.real()), std::fabs(b.imag()));
  const int exponent = std::isfinite(larger) && larger != 0 ? std::ilogb(larger) : 0;
  const double c = std::scalbn(b.real(), -exponent);
  const double d = std::scalbn(b.imag(), -exponent);
  const double square = c * c + d * d;
  const double real = std::scalbn((a.real() * c + a.imag() * d) / square, -exponent);
  const double imaginary = std::scalbn((a.imag() * c - a.real() * d) / square, -exponent);
  if (!std::isnan(real) || !std::isnan(imaginary)) return {real, imaginary};

  const auto is_infinite = [](std::complex<double> z) {
    return std::isinf(z.real()) || std::isinf(z.imag());
  };
  const auto is_finite = [](std::complex<double> z) {
    return std::isfinite(z.real()) && std::isfinite(z.imag());
  };
  // An infinite number's direction: 1 for infinite parts, 0 for the others, with their signs.
  const auto direction = [](std::complex<double> z) {
    return std::complex<double>(std::copysign(std::isinf(z.real()) ? 1.0 : 0.0, z.real()),
                                std::copysign(std::isinf(z.imag()) ? 1.0 : 0.0, z.imag()));
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (b == 0.0) {
    const double infinity = std::copysign(kInfinity, b.real());
    return {infinity * a.real(), infinity * a.imag()};
  }
  if (is_infinite(a) && is_finite(b)) {
    const std::complex<double> u = direction(a);
    return {kInfinity * (u.real() * c + u.imag() * d), kInfinity * (u.imag() * c - u.real() * d)};
  }
  if (is_infinite(b) && is_finite(a)) {
    const std::complex<double> u = direction(b);
    return {0 * (a.real() * u.real() + a.imag() * u.imag()),
            0 * (a.imag() * u.real() - a.real() * u.imag())};
  }
  return {real, imaginary};
}

/// C++'s pow, but 0^0 = 1 and, as in XLA, a positive infinity to a real power is infinity or 0.
template <Complex T>
T Power::operator()(T base, T exponent) const {
  using Component = typename T::value_type;
  if (exponent == T(0)) return T(1);
  if (base.real() == std::numeric_limits<Component>::infinity() && base.imag() == 0 &&
      exponent.imag() == 0) {
    if (exponent.real() > 0) return base;
    if (exponent.real() < 0) return T(0);
  }
  if (base == T(0) && exponent.real() > 0) return T(0);
  return T(std::pow(std::complex<double>(base), std::complex<double>(exponent)));
}

template <Complex T>
T Atan2::operator()(T y, T x) const {
  const std::complex<double> up(y), right(x), i(0, 1);
  return T(-i * std::log(quotient(right + i * up, std::sqrt(right * right + up * up))));
}

const KernelRow* arithmetic_row(Opcode opcode) {
  static constexpr auto kRows =
      rows<2, Add, Subtract, Multiply, Mulhi, Divide, Remainder, Power, Atan2, Maximum, Minimum>();
  return find_row(kRows, opcode);
}

}  // namespace minihlo::elementwise
