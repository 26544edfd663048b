// Numbers as decimal text; floating-point numbers digit for digit as printf's %g gives them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace minihlo::internal {

/// Room that writing a number takes at most; the number itself is shorter.
inline constexpr size_t kDecimalSize = 48;

/// Writes a finite value that is not 0 as XLA does (xla/util.cc, RoundTripFpToString): %.6g (%.15g)
/// where that reads back as the same value, else %.9g (%.17g). Returns the end of what it wrote.
char* write_decimal(char* to, float value);
char* write_decimal(char* to, double value);
/// Writes a finite value that is not 0 as %.<digits>g; `digits` from 2 to 5.
template <int digits>
char* write_decimal(char* to, float value);
/// Writes a whole number.
char* write_integer(char* to, uint64_t value);

}  // namespace minihlo::internal
