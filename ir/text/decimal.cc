#include "ir/text/decimal.h"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

namespace minihlo::internal {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int kMostFives = 27;  // 5^27 is the last power that fits 64 bits
constexpr auto kFives = [] {
  std::array<uint64_t, kMostFives + 1> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 5;
  return powers;
}();
constexpr auto kTens = [] {
  std::array<uint64_t, 20> powers{1};
  for (size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
  return powers;
}();

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

// The doubles next to powers of ten from 10^-kMostFives on.
constexpr int kLargestTen = 19;
constexpr auto kThresholds = [] {
  std::array<double, kMostFives + kLargestTen + 1> powers{};
  for (int i = 0; i <= kLargestTen; ++i) {
    powers[static_cast<size_t>(kMostFives + i)] =
        static_cast<double>(kTens[static_cast<size_t>(i)]);
  }
  for (int i = 1; i <= kMostFives; ++i) {
    powers[static_cast<size_t>(kMostFives - i)] =
        1 / (i <= kLargestTen ? static_cast<double>(kTens[static_cast<size_t>(i)])
                              : 1e19 * static_cast<double>(kTens[static_cast<size_t>(i - 19)]));
  }
  return powers;
}();

// A positive value times a power of ten, exactly: scaled / 2^shift = value * 10^power.
template <class Word>
struct Scaled {
  Word scaled;
  Word unit;  // the distance to the next larger value of the type, scaled alike
  int shift;
  uint64_t digits;  // the integral part
  bool even;        // the significand is
  bool at_binade;   // a power of two: the next smaller value is half as far away
};

// Which power of ten makes the integral part of a normal value have `count` digits, or one more or
// less where the value is next to a power of ten; negative where that is not known.
template <class T>
int power_for(T value, int count) {
  constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  const int log2 = static_cast<int>(std::bit_cast<BitsOf<T>>(value) >> kFraction) - kBias;
  int log10 = (log2 * 1233) >> 12;  // one too few at most
  if (log10 < -kMostFives || log10 >= kLargestTen) return -1;
  log10 += static_cast<double>(value) >= kThresholds[static_cast<size_t>(kMostFives + log10 + 1)];
  return count - 1 - log10;
}

// Requires a normal value and a power that its digits times 5^power fit in a Word with. False
// where the integral part then has more or fewer digits than `count`.
template <class Word, class T>
[[gnu::always_inline]] inline bool scale(T value, int count, int power, Scaled<Word>& out) {
  constexpr int kFraction = std::numeric_limits<T>::digits - 1;
  constexpr int kBias = std::numeric_limits<T>::max_exponent - 1;
  const auto bits = std::bit_cast<BitsOf<T>>(value);
  const int log2 = static_cast<int>(bits >> kFraction) - kBias;
  const uint64_t hidden = uint64_t{1} << kFraction;
  const uint64_t significand = (bits & (hidden - 1)) | hidden;
  out.unit = kFives[static_cast<size_t>(power)];
  out.scaled = significand * out.unit;
  out.shift = kFraction - log2 - power;
  if (out.shift < 0) {
    out.scaled <<= -out.shift;
    out.unit <<= -out.shift;
    out.shift = 0;
  }
  out.digits = static_cast<uint64_t>(out.scaled >> out.shift);
  out.even = (significand & 1) == 0;
  out.at_binade = significand == hidden;
  return out.digits < kTens[static_cast<size_t>(count)] &&
         out.digits >= kTens[static_cast<size_t>(count - 1)];
}

// Digits are not foreseen: what follows has no branches on them.

// The integral part without its last `drop` digits, rounded to nearest even.
template <int drop, class Word>
uint64_t round(const Scaled<Word>& value) {
  const Word one = Word{1} << value.shift;
  const Word fraction = value.scaled & (one - 1);
  if constexpr (drop == 0) {
    return value.digits + (2 * fraction + (value.digits & 1) > one);
  } else {
    constexpr uint64_t kTen = kTens[drop];
    const uint64_t kept = value.digits / kTen;
    const uint64_t rest = value.digits % kTen;
    // Half of what is dropped counts as more where something is behind it, or the digit is odd.
    return kept + (2 * rest + ((fraction != 0) | (kept & 1)) > kTen);
  }
}

// Whether a decimal, which is the integral part rounded, reads as the value itself.
template <class Word>
bool reads_back(const Scaled<Word>& value, uint64_t decimal) {
  const Word candidate = static_cast<Word>(decimal) << value.shift;
  const bool more = candidate > value.scaled;
  const Word difference = candidate - value.scaled;
  const Word sign = Word{0} - static_cast<Word>(!more);  // all bits where it is negative
  const Word distance = ((difference ^ sign) - sign) << (1 + (!more & value.at_binade));
  return distance < value.unit + value.even;
}

// The eight digits of a number, the first in the lowest byte.
[[gnu::always_inline]] inline uint64_t eight_digits(uint64_t value) {
  const uint64_t fours = value / 10000 | (value % 10000) << 32;
  const uint64_t hundreds = (fours * 10486 >> 20) & 0x0000007F0000007F;
  const uint64_t twos = hundreds | (fours - hundreds * 100) << 16;
  const uint64_t tens = (twos * 103 >> 10) & 0x000F000F000F000F;
  return tens | (twos - tens * 10) << 8;
}

constexpr uint64_t kZeros = 0x3030303030303030;
static_assert(std::endian::native == std::endian::little);

// Writes the digits of an integer that has `count`, followed by at least one zero. Returns their
// number without the zeros at the end.
template <int count>
int write_digits(char* to, uint64_t digits) {
  static_assert(count <= 17);
  int written = 0;
  if constexpr (count == 9 || count == 17) {
    constexpr uint64_t kFirst = kTens[count - 1];
    to[written++] = static_cast<char>('0' + digits / kFirst);
    digits %= kFirst;
  } else {
    digits *= kTens[(count <= 8 ? 8 : 16) - count];
  }
  int significant = written;
  for (int blocks = (count - written + 7) / 8; blocks > 0; --blocks) {
    const uint64_t block = eight_digits(blocks == 2 ? digits / kTens[8] : digits % kTens[8]);
    const uint64_t text = block | kZeros;
    std::memcpy(to + written, &text, 8);
    written += 8;
    if (block != 0) significant = written - std::countl_zero(block) / 8;
  }
  std::memcpy(to + written, &kZeros, 8);
  return significant;
}

char* write_exponent(char* to, int exponent) {
  *to++ = 'e';
  *to++ = exponent < 0 ? '-' : '+';
  const int magnitude = std::abs(exponent);
  if (magnitude >= 100) return std::to_chars(to, to + 3, magnitude).ptr;
  *to++ = static_cast<char>('0' + magnitude / 10);
  *to++ = static_cast<char>('0' + magnitude % 10);
  return to;
}

// %g of `digits`, an integer of `count` digits or 10^count, times 10^-power.
template <int count>
char* layout(char* to, uint64_t digits, int power) {
  int exponent = count - 1 - power;
  if (digits == kTens[count]) {
    digits = kTens[count - 1];
    ++exponent;
  }
  // Pieces are copied whole, and what follows overwrites what is too much.
  if constexpr (count <= 9) {
    // Most floats: straight to where they belong, as what was just written in small pieces is slow
    // to read in larger ones.
    if (exponent <= 0) {
      const uint64_t nine = digits * kTens[9 - count];
      const uint64_t block = eight_digits(nine % kTens[8]);
      const uint64_t text = block | kZeros;
      const char first = static_cast<char>('0' + nine / kTens[8]);
      const int behind = block == 0 ? 0 : 8 - std::countl_zero(block) / 8;
      if (exponent < 0 && exponent >= -4) {
        std::memcpy(to, "0.000", 5);
        to += 1 - exponent;
        *to++ = first;
        std::memcpy(to, &text, 8);
        return to + behind;
      }
      to[0] = first;
      to[1] = '.';
      std::memcpy(to + 2, &text, 8);
      to += behind == 0 ? 1 : 2 + behind;
      return exponent == 0 ? to : write_exponent(to, exponent);
    }
  }
  char text[48];
  const int size = write_digits<count>(text, digits);
  if (exponent >= 0 && exponent < count) {
    std::memcpy(to, text, 17);
    if (exponent >= size - 1) return to + exponent + 1;
    to[exponent + 1] = '.';
    std::memcpy(to + exponent + 2, text + exponent + 1, 17);
    return to + size + 1;
  }
  if (exponent < 0 && exponent >= -4) {
    std::memcpy(to, "0.000", 5);
    std::memcpy(to + 1 - exponent, text, 17);
    return to + 1 - exponent + size;
  }
  *to++ = text[0];
  if (size > 1) {
    *to++ = '.';
    std::memcpy(to, text + 1, 17);
    to += size - 1;
  }
  return write_exponent(to, exponent);
}

template <class T>
char* write_general(char* to, T value, int digits) {
  return std::to_chars(to, to + kDecimalSize, static_cast<double>(value),
                       std::chars_format::general, digits)
      .ptr;
}

template <class Word, class T>
char* try_shortest(char* to, T value, int power) {
  constexpr int kFew = std::numeric_limits<T>::digits10;
  constexpr int kMany = std::numeric_limits<T>::max_digits10;
  Scaled<Word> scaled;
  if (!scale(std::fabs(value), kMany, power, scaled)) return nullptr;
  *to = '-';
  to += value < 0;  // signs are not foreseen, so there is no branch
  constexpr int kDrop = kMany - kFew;
  const uint64_t few = round<kDrop>(scaled);
  if (reads_back(scaled, few * kTens[kDrop])) return layout<kFew>(to, few, power - kDrop);
  return layout<kMany>(to, round<0>(scaled), power);
}

// Up to this power the significand of a float times 5^power fits 64 bits.
constexpr int kNarrowFives = 17;

template <class T>
char* write_shortest(char* to, T value) {
  constexpr int kMany = std::numeric_limits<T>::max_digits10;
  const int power = power_for(std::fabs(value), kMany);
  if (power >= 0 && power <= kMostFives) {
    char* end;
    if (sizeof(T) == 4 && power <= kNarrowFives) {
      end = try_shortest<uint64_t>(to, value, power);
    } else {
      end = try_shortest<Wide>(to, value, power);
    }
    if (end) return end;
  }
  char* end = write_general(to, value, std::numeric_limits<T>::digits10);
  T again{};
  std::from_chars(to, end, again);
  return again == value ? end : write_general(to, value, kMany);
}

}  // namespace

char* write_decimal(char* to, float value) { return write_shortest(to, value); }
char* write_decimal(char* to, double value) { return write_shortest(to, value); }

char* write_integer(char* to, uint64_t value) {
  if (value >= kTens[8]) {
    to = write_integer(to, value / kTens[8]);
    const uint64_t text = eight_digits(value % kTens[8]) | kZeros;
    std::memcpy(to, &text, 8);
    return to + 8;
  }
  const uint64_t block = eight_digits(value);
  const int zeros = std::countr_zero(block | uint64_t{1} << 56) / 8;  // before the first digit
  const uint64_t text = (block | kZeros) >> (8 * zeros);
  std::memcpy(to, &text, 8);
  return to + 8 - zeros;
}

template <int digits>
char* write_decimal(char* to, float value) {
  const int power = power_for(std::fabs(value), digits);
  Scaled<uint64_t> scaled;
  if (power < 0 || power > kNarrowFives || !scale(std::fabs(value), digits, power, scaled)) {
    return write_general(to, value, digits);
  }
  if (value < 0) *to++ = '-';
  return layout<digits>(to, round<0>(scaled), power);
}

template char* write_decimal<2>(char*, float);
template char* write_decimal<3>(char*, float);
template char* write_decimal<4>(char*, float);
template char* write_decimal<5>(char*, float);

}  // namespace minihlo::internal
