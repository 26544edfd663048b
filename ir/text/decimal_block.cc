#include "ir/text/decimal_block.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ir/vector_code.h"

namespace minihlo::internal {
namespace {

constexpr std::array<double, 13> kTens = {1,   1e1, 1e2, 1e3,  1e4,  1e5, 1e6,
                                          1e7, 1e8, 1e9, 1e10, 1e11, 1e12};

// The least float from 10^exponent on.
constexpr float float_from_ten(int exponent) {
  // No float is between such a power and the double next to it.
  const double ten = exponent < 0 ? 1 / kTens[static_cast<size_t>(-exponent)]
                                  : kTens[static_cast<size_t>(exponent)];
  const auto narrow = static_cast<float>(ten);
  return static_cast<double>(narrow) >= ten
             ? narrow
             : std::bit_cast<float>(std::bit_cast<uint32_t>(narrow) + 1);
}

// Half to even; of a number below 2^51.
MINIHLO_ALWAYS_INLINE inline double nearest(double value) { return (value + 0x1.8p52) - 0x1.8p52; }

// How many times `by` is in a whole number of at most nine digits.
MINIHLO_ALWAYS_INLINE inline double whole_part(double number, double by) {
  return nearest((number + 0.5) * (1 / by) - 0.5);
}

// The digits of a number below 10000, the first in the lowest byte.
MINIHLO_ALWAYS_INLINE inline uint32_t four_digits(uint32_t number) {
  const uint32_t hundreds = number * 10486 >> 20;
  const uint32_t twos = hundreds | (number - hundreds * 100) << 16;
  const uint32_t tens = (twos * 103 >> 10) & 0x000F000F;
  return tens | (twos - tens * 10) << 8;
}

// The number of bytes up to the last that is not 0, of bytes that are digits.
MINIHLO_ALWAYS_INLINE inline int32_t used_bytes(uint32_t digits) {
  // A float's exponent tells the highest bit.
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(digits)));
  const int32_t used = (static_cast<int32_t>(bits >> 23) - 119) >> 3;
  return digits == 0 ? 0 : used;
}

}  // namespace

template <int digits>
MINIHLO_ALWAYS_INLINE inline void DecimalBlock::find_all(const float* values) {
  constexpr int kAlways = 9;  // digits that tell any two floats apart
  constexpr int kFew = digits == 0 ? 6 : digits;
  constexpr int kTop = std::min(kFew, kEnd);
  constexpr float kFrom = float_from_ten(kLeast);
  constexpr float kBelow = float_from_ten(kTop);
  constexpr double kDropped = kTens[kAlways - kFew];

  std::array<float, kSize> magnitudes;
  std::array<double, kSize> tens, decimals;
  std::array<uint32_t, kSize> first, last;
  for (size_t i = 0; i < kSize; ++i) {
    const float magnitude = std::fabs(values[i]);
    negative_[i] = std::bit_cast<uint32_t>(values[i]) >> 31;
    const bool common = (magnitude >= kFrom) & (magnitude < kBelow);
    magnitudes[i] = common ? magnitude : 1.0F;
    int32_t exponent = kLeast;
    MINIHLO_UNROLLED
    for (int k = kLeast + 1; k < kTop; ++k) exponent += magnitudes[i] >= float_from_ten(k);
    exponent_[i] = exponent;
  }
  for (size_t i = 0; i < kSize; ++i) {
    tens[i] = kTens[static_cast<size_t>(kAlways - 1 - exponent_[i])];
  }
  for (size_t i = 0; i < kSize; ++i) {
    const float value = magnitudes[i];
    // Exact: 24 bits times 5^12 are fewer than 53.
    const double scaled = static_cast<double>(value) * tens[i];
    double decimal = nearest(scaled / kDropped) * kDropped;
    if constexpr (digits == 0) {
      // No number of six digits is nearer to what lies half way between two floats than doubles
      // are to each other, so that rounding twice is as rounding once.
      const double all = nearest(scaled);
      decimal = static_cast<float>(decimal / tens[i]) == value ? decimal : all;
    }
    decimals[i] = decimal;
  }
  for (size_t i = 0; i < kSize; ++i) {
    const double carried = kTens[kAlways];
    const double decimal = decimals[i] == carried ? carried / 10 : decimals[i];
    const double leading = whole_part(decimal, 1e8);
    const double rest = decimal - leading * 1e8;
    const double upper = whole_part(rest, 1e4);
    leading_[i] = static_cast<int32_t>(leading);
    first[i] = static_cast<uint32_t>(static_cast<int32_t>(upper));
    last[i] = static_cast<uint32_t>(static_cast<int32_t>(rest - upper * 1e4));
  }
  for (size_t i = 0; i < kSize; ++i) exponent_[i] += decimals[i] == kTens[kAlways];
  for (size_t i = 0; i < kSize; ++i) {
    const float magnitude = std::fabs(values[i]);
    const int32_t exponent = exponent_[i];
    first[i] = four_digits(first[i]);
    last[i] = four_digits(last[i]);
    // Digits behind the leading one, without zeros at the end.
    const int32_t size = last[i] == 0 ? used_bytes(first[i]) : 4 + used_bytes(last[i]);
    const int32_t end = 2 + size + (exponent < 0 ? -exponent : 0);
    length_[i] = exponent >= size ? exponent + 1 : end;
    const bool found = (magnitude >= kFrom) & (magnitude < kBelow) & (exponent < kTop);
    exponent_[i] = found ? exponent : kNone;
  }
  for (size_t i = 0; i < kSize; ++i) {
    first_[i] = first[i];
    last_[i] = last[i];
  }
}

template <int digits>
void DecimalBlock::find(const float* values) {
  run_vectorized([&]() MINIHLO_ALWAYS_INLINE { find_all<digits>(values); });
}

template void DecimalBlock::find<0>(const float*);
template void DecimalBlock::find<2>(const float*);
template void DecimalBlock::find<3>(const float*);
template void DecimalBlock::find<4>(const float*);
template void DecimalBlock::find<5>(const float*);

}  // namespace minihlo::internal
