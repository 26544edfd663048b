// Numbers as they stand in literals.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

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

inline constexpr double kPowersOfTen[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
/// A number of this many digits is exact as a double, and so is its quotient by a power of ten up
/// to 10^22, but for one rounding.
inline constexpr int64_t kExactDigits = 15;

/// Steps over the digits at `p`, eight at a time, and appends them to `digits` (modulo 2^64).
inline void read_digits(const char*& p, const char* end, uint64_t& digits) {
  static_assert(std::endian::native == std::endian::little);
  static constexpr uint64_t kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  // The value of eight digits, the first in the lowest byte.
  auto value = [](uint64_t eight) {
    eight = eight * 10 + (eight >> 8);
    constexpr uint64_t kPair = 0x000000FF000000FF;
    return ((eight & kPair) * (100 + (uint64_t{1000000} << 32)) +
            ((eight >> 16) & kPair) * (1 + (uint64_t{10000} << 32))) >>
           32;
  };
  if (end - p >= 8) {
    uint64_t eight;
    std::memcpy(&eight, p, 8);
    eight ^= 0x3030303030303030;
    // The topmost bit of a byte tells that it is no digit; bytes above that may be wrong.
    const uint64_t others = ((eight + 0x7676767676767676) | eight) & 0x8080808080808080;
    if (others != 0) {
      const int count = std::countr_zero(others) / 8;
      if (count == 0) return;
      digits = digits * kTens[count] + value(eight << (64 - 8 * count));
      p += count;
      return;
    }
    digits = digits * 100000000 + value(eight);
    p += 8;
  }
  for (; p < end && *p >= '0' && *p <= '9'; ++p) {
    digits = digits * 10 + static_cast<uint64_t>(*p - '0');
  }
}

/// Reads the number at `p` if it is what most are: few digits, perhaps a point among them, and a
/// comma, blank or brace behind. Otherwise false, and `p` has not moved.
inline bool read_plain_number(const char*& p, const char* end, Number& number) {
  const char* at = p;
  const bool negative = at < end && *at == '-';
  at += negative;
  const char* const begin = at;
  uint64_t digits = 0;
  // 0.5: what is told by branches does not wait for the end of the number before.
  if (end - at >= 2 && *at >= '0' && *at <= '9' && at[1] == '.') {
    digits = static_cast<uint64_t>(*at++ - '0');
  } else {
    read_digits(at, end, digits);
  }
  int64_t count = at - begin;
  if (count == 0 || at == end) return false;
  int64_t fraction = -1;
  if (*at == '.') {
    const char* const point = at++;
    read_digits(at, end, digits);
    fraction = at - point - 1;
    count += fraction;
  }
  if (count > kExactDigits || at == end || (*at != ',' && *at != ' ' && *at != '}')) return false;
  p = at;
  if (fraction < 0) {
    number.kind = Number::Kind::kInteger;
    number.integer = negative ? -static_cast<int64_t>(digits) : static_cast<int64_t>(digits);
  } else {
    number.kind = Number::Kind::kReal;
    const double real = static_cast<double>(digits) / kPowersOfTen[fraction];
    // Signs are not foreseen, so there is no branch.
    number.real = std::bit_cast<double>(std::bit_cast<uint64_t>(real) ^ uint64_t{negative} << 63);
  }
  return true;
}

}  // namespace minihlo::internal
