#include "ir/text/number_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>

namespace minihlo::internal {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Reads an unsigned decimal number at `p`. What a double holds exactly with one more rounding is
// computed directly; the rest is left to from_chars.
Problem read_unsigned(const char*& p, const char* end, bool negative, Number& number) {
  const char* begin = p;
  uint64_t digits = 0;
  read_digits(p, end, digits);
  int64_t count = p - begin;
  int64_t scale = 0;
  bool real = false;
  if (p < end && *p == '.') {
    real = true;
    const char* point = p++;
    read_digits(p, end, digits);
    scale = -(p - point - 1);
    count -= scale;
  }
  if (count == 0) return Problem::kNotAValue;
  if (p < end && (*p == 'e' || *p == 'E')) {
    const char* exponent = p + 1;
    bool plus = exponent < end && *exponent == '+';
    exponent += plus;
    int value;
    auto [after, error] = std::from_chars(exponent, end, value);
    if (error != std::errc::invalid_argument && !(plus && *exponent == '-')) {
      real = true;
      p = after;
      scale = error == std::errc() && std::abs(value) < 10000 ? scale + value : 100000;
    }
  }
  if (!real) {
    number.kind = Number::Kind::kInteger;
    if (count > 18) {
      const char* from = negative ? begin - 1 : begin;
      if (std::from_chars(from, p, number.integer).ec == std::errc()) return Problem::kNone;
      if (negative || std::from_chars(begin, p, digits).ec != std::errc()) {
        return Problem::kOutOfRange;
      }
      number.integer = static_cast<int64_t>(digits);
      return Problem::kNone;
    }
    number.integer = negative ? -static_cast<int64_t>(digits) : static_cast<int64_t>(digits);
    return Problem::kNone;
  }
  number.kind = Number::Kind::kReal;
  if (count <= kExactDigits && scale >= -22 && scale <= 22) {
    number.real = static_cast<double>(digits);
    number.real =
        scale < 0 ? number.real / kPowersOfTen[-scale] : number.real * kPowersOfTen[scale];
  } else {
    auto [_, error] = std::from_chars(begin, p, number.real);
    if (error == std::errc::result_out_of_range) {
      // Too small is zero, too large is an error.
      std::string text(begin, p);
      number.real = std::strtod(text.c_str(), nullptr);
      if (std::isinf(number.real)) return Problem::kDoubleRange;
    }
  }
  if (negative) number.real = -number.real;
  return Problem::kNone;
}

}  // namespace

bool continues_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

Problem read_number(const char*& p, const char* end, Number& number) {
  bool negative = p < end && *p == '-';
  if (negative) ++p;
  if (p >= end) return Problem::kNotAValue;
  if (is_digit(*p) || (negative && *p == '.')) {
    Problem problem = read_unsigned(p, end, negative, number);
    if (problem == Problem::kNone && p < end && continues_word(*p)) return Problem::kNotAValue;
    return problem;
  }
  std::string_view rest(p, static_cast<size_t>(std::min<std::ptrdiff_t>(end - p, 6)));
  if (rest.starts_with("inf")) {
    number.kind = Number::Kind::kReal;
    number.real = negative ? -HUGE_VAL : HUGE_VAL;
    p += 3;
  } else if (rest.starts_with("nan")) {
    number.kind = Number::Kind::kNan;
    number.real = std::numeric_limits<double>::quiet_NaN();
    number.negative = negative;
    number.payload = 0;
    p += 3;
    if (rest.starts_with("nan(0x")) {
      auto [after, error] = std::from_chars(p + 3, end, number.payload, 16);
      constexpr uint64_t kQuiet = uint64_t{1} << 51;
      constexpr uint64_t kLargest = (uint64_t{1} << 52) - 1;
      if (error != std::errc() || after >= end || *after != ')' || number.payload == 0 ||
          number.payload > kLargest) {
        return Problem::kPayload;
      }
      p = after + 1;
      // What `nan` is as a double stands for `nan` of any type.
      if (number.payload == kQuiet) number.payload = 0;
    }
  } else {
    return Problem::kNotAValue;
  }
  return p < end && continues_word(*p) ? Problem::kNotAValue : Problem::kNone;
}

}  // namespace minihlo::internal
