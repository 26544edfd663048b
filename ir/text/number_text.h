// Numbers as they stand in literals.
#pragma once

#include <cstdint>

namespace minihlo::internal {

// A number as written. XLA's lexer decides what is an integer: -0 is one, so as a float it is +0.
struct Number {
  enum class Kind : uint8_t { kInteger, kReal, kNan } kind = Kind::kInteger;
  bool negative = false;  // of a NaN
  int64_t integer = 0;    // those above 2^63-1 as their bits, also where a float is meant
  double real = 0;
  uint64_t payload = 0;  // of a NaN; 0: none written

  double as_double() const { return kind == Kind::kInteger ? static_cast<double>(integer) : real; }
};

enum class Problem : uint8_t {
  kNone,
  kNotAValue,
  kNeedsInteger,
  kOutOfRange,
  kDoubleRange,
  kPayload,
  kNeedsPair
};

/// Whether `c` can't stand right behind a number.
bool continues_word(char c);

/// Reads the number at `p`, with its sign, and moves `p` behind it.
Problem read_number(const char*& p, const char* end, Number& number);

}  // namespace minihlo::internal
