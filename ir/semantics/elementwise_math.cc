#include "ir/semantics/elementwise_math.h"

namespace minihlo::elementwise {

/// e^x cos y - 1 loses everything near 0: (e^x - 1) cos y - 2 sin^2(y/2) does not.
Wide ExponentialMinusOne::value(Wide z) {
  const double x = z.real();
  const double y = z.imag();
  if (y == 0) return Wide(std::expm1(x), y);
  const double half_sine = std::sin(y / 2);
  return Wide(std::expm1(x) * std::cos(y) - 2 * half_sine * half_sine, std::exp(x) * std::sin(y));
}

/// log |1 + z| near |z| = 0 is log1p(2x + x^2 + y^2) / 2.
Wide LogPlusOne::value(Wide z) {
  const double x = z.real();
  const double y = z.imag();
  const double angle = std::atan2(y, 1 + x);
  if (std::fabs(x) < 0.5 && std::fabs(y) < 0.5) {
    return Wide(std::log1p(x * (2 + x) + y * y) / 2, angle);
  }
  return Wide(std::log(std::hypot(1 + x, y)), angle);
}

const KernelRow* rounding_row(Opcode opcode) {
  static constexpr auto kRows = rows<1, Ceil, Floor, RoundNearestAfz, RoundNearestEven, Sign>();
  return find_row(kRows, opcode);
}

const KernelRow* math_row(Opcode opcode) {
  static constexpr auto kRows =
      rows<1, Acos, Acosh, Asin, Asinh, Atanh, Cbrt, Cosine, Cosh, Erf, Exponential,
           ExponentialMinusOne, Log, LogPlusOne, Logistic, Rsqrt, Sine, Sinh, Sqrt, Tan, Tanh>();
  return find_row(kRows, opcode);
}

}  // namespace minihlo::elementwise
