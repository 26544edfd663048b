#include "ir/semantics/elementwise_arithmetic.h"

namespace minihlo::elementwise {

/// C's division of complex numbers (infinities and zero divisors as in its Annex G).
template <Complex T>
T Divide::operator()(T a, T b) const {
  return T(std::complex<double>(a) / std::complex<double>(b));
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

const KernelRow* arithmetic_row(Opcode opcode) {
  static constexpr auto kRows =
      rows<2, Add, Subtract, Multiply, Mulhi, Divide, Remainder, Power, Atan2, Maximum, Minimum>();
  return find_row(kRows, opcode);
}

}  // namespace minihlo::elementwise
