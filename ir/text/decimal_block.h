// Many floats as decimal text at a time: the digits of a block are found together, by loops that
// the compiler vectorizes, and then laid out one number after the other.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace minihlo::internal {

class DecimalBlock {
 public:
  static constexpr int kSize = 32;  // values
  /// Room that writing a number takes at most; the number itself is shorter.
  static constexpr size_t kRoom = 24;

  /// Finds the digits of kSize values as write_decimal(value) has them or, where `digits` is not 0,
  /// write_decimal<digits>(value).
  template <int digits>
  void find(const float* values);

  /// Whether a value is among those whose digits are found: from 0.0001 to below 10^6, or
  /// 10^digits if that is less.
  bool has(int i) const { return exponent_[at(i)] != kNone; }
  /// Writes a value that is here. Returns the end of what it wrote.
  char* write(char* to, int i) const {
    const Places& places = kPlaces[static_cast<size_t>(exponent_[at(i)] - kLeast)];
    const uint64_t text = (last_[at(i)] << 32 | first_[at(i)]) | kZeros;
    *to = '-';
    to += negative_[at(i)];  // signs are not foreseen, so there is no branch
    std::memcpy(to, "0.000000", 8);
    to[places.leading] = static_cast<char>('0' + leading_[at(i)]);
    std::memcpy(to + places.leading + 1, &text, 8);
    to[places.point] = '.';
    const uint64_t behind = text >> places.skipped;
    std::memcpy(to + places.behind, &behind, 8);
    return to + length_[at(i)];
  }

 private:
  static constexpr int kLeast = -4;  // exponents of ten; below it numbers have `e`
  static constexpr int kEnd = 6;
  static constexpr int kNone = -100;
  static constexpr uint64_t kZeros = 0x3030303030303030;

  // Where the parts of a number stand, by its exponent. Digits behind the point are written twice
  // where some stand before it.
  struct Places {
    uint8_t leading;  // the leading digit
    uint8_t point;
    uint8_t behind;   // what is behind the point
    uint8_t skipped;  // bits of the digits before it
  };
  static constexpr auto kPlaces = [] {
    std::array<Places, kEnd - kLeast> all{};
    for (int exponent = kLeast; exponent < kEnd; ++exponent) {
      auto byte = [](int number) { return static_cast<uint8_t>(number); };
      all[static_cast<size_t>(exponent - kLeast)] =
          exponent < 0 ? Places{byte(1 - exponent), 1, byte(2 - exponent), 0}
                       : Places{0, byte(1 + exponent), byte(2 + exponent), byte(8 * exponent)};
    }
    return all;
  }();

  template <int digits>
  void find_all(const float* values);

  static size_t at(int i) { return static_cast<size_t>(i); }

  // Of a number of nine digits: the leading one, and the next four and the last, a byte each.
  std::array<int32_t, kSize> exponent_, leading_, length_;
  std::array<uint32_t, kSize> negative_, first_;
  std::array<uint64_t, kSize> last_;
};

}  // namespace minihlo::internal
