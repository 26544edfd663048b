// Numbers are written digit for digit as printf's %g would.
#include "ir/text/decimal.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include <doctest/doctest.h>

#include "ir/text/decimal_block.h"

namespace minihlo::internal {
namespace {

std::string general(double value, int digits) {
  char text[64];
  return {text,
          std::to_chars(text, text + sizeof(text), value, std::chars_format::general, digits).ptr};
}

// What XLA does: a few digits if they do, else as many as always do.
template <class T>
std::string expected(T value) {
  std::string few = general(static_cast<double>(value), std::numeric_limits<T>::digits10);
  T again{};
  std::from_chars(few.data(), few.data() + few.size(), again);
  return again == value ? few
                        : general(static_cast<double>(value), std::numeric_limits<T>::max_digits10);
}

template <class T>
std::string written(T value) {
  char text[kDecimalSize];
  return {text, write_decimal(text, value)};
}

template <int digits>
std::string rounded(float value) {
  char text[kDecimalSize];
  return {text, write_decimal<digits>(text, value)};
}

// doctest's own bookkeeping takes longer than what is checked.
#define CHECK_QUICKLY(a, b)        \
  do {                             \
    if ((a) != (b)) CHECK(a == b); \
  } while (false)

template <class T>
void check(T value) {
  if (!std::isfinite(value) || value == 0) return;
  CHECK_QUICKLY(written(value), expected(value));
}

void check_rounded(float value) {
  if (!std::isfinite(value) || value == 0) return;
  CHECK_QUICKLY(rounded<2>(value), general(value, 2));
  CHECK_QUICKLY(rounded<3>(value), general(value, 3));
  CHECK_QUICKLY(rounded<4>(value), general(value, 4));
  CHECK_QUICKLY(rounded<5>(value), general(value, 5));
}

TEST_CASE("decimals: random bit patterns") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100'000; ++i) {
    const uint64_t bits = random();
    float narrow;
    double wide;
    std::memcpy(&narrow, &bits, sizeof(narrow));
    std::memcpy(&wide, &bits, sizeof(wide));
    check(narrow);
    check(wide);
    check_rounded(narrow);
    // Of a size as in models.
    wide = std::ldexp(1 + std::abs(std::remainder(wide, 1.0)), static_cast<int>(bits % 80) - 50);
    check(wide);
    check(static_cast<float>(wide));
    check_rounded(static_cast<float>(wide));
  }
}

TEST_CASE("decimals: short numbers, and those that lie half way between two") {
  for (int i = -30'000; i <= 30'000; ++i) {
    for (double scale : {1.0, 0.5, 1e-3, 1e-5, 1e3, 1e8}) {
      check(i * scale);
      check(static_cast<float>(i * scale));
      check_rounded(static_cast<float>(i * scale));
    }
  }
  CHECK(written(0.1f) == "0.1");
  CHECK(written(16777216.0f) == "16777216");
  CHECK(written(-1e-5f) == "-1e-05");
  CHECK(written(1e30f) == "1e+30");
  CHECK(written(2.5) == "2.5");
  CHECK(rounded<2>(2.5f) == "2.5");
  CHECK(rounded<2>(1.25f) == "1.2");
  CHECK(rounded<2>(99.6f) == "1e+02");
}

TEST_CASE("decimals: powers of two and of ten, and their neighbours") {
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    const double two = std::ldexp(1.0, exponent);
    for (double value : {two, std::nextafter(two, 0.0), std::nextafter(two, HUGE_VAL)}) {
      check(value);
    }
    const auto narrow = static_cast<float>(two);
    for (float value : {narrow, std::nextafter(narrow, 0.0f), std::nextafter(narrow, HUGE_VALF)}) {
      check(value);
      check_rounded(value);
    }
  }
  for (int exponent = -320; exponent < 309; ++exponent) {
    const double ten = std::pow(10.0, exponent);
    for (double value : {ten, std::nextafter(ten, 0.0), std::nextafter(ten, HUGE_VAL), 2 * ten}) {
      check(value);
    }
    const auto narrow = static_cast<float>(ten);
    for (float value : {narrow, std::nextafter(narrow, 0.0f), std::nextafter(narrow, HUGE_VALF)}) {
      check(value);
      check_rounded(value);
    }
  }
}

// A block has what it should have, as one number alone would be written.
template <int digits>
void check_block(const std::array<float, DecimalBlock::kSize>& values) {
  DecimalBlock block;
  block.find<digits>(values.data());
  const float end = digits == 0 ? 1e6F : std::pow(10.0F, static_cast<float>(digits));
  for (int i = 0; i < DecimalBlock::kSize; ++i) {
    const float value = values[static_cast<size_t>(i)];
    const bool common = std::abs(value) > 1e-4F && std::abs(value) < 0.94F * end;
    if (common && !block.has(i)) CHECK(value == 0);
    if (!block.has(i)) continue;
    char text[DecimalBlock::kRoom];
    const std::string found(text, block.write(text, i));
    if constexpr (digits == 0) {
      CHECK_QUICKLY(found, expected(value));
    } else {
      CHECK_QUICKLY(found, general(value, digits));
    }
  }
}

void check_blocks(const std::array<float, DecimalBlock::kSize>& values) {
  check_block<0>(values);
  check_block<2>(values);
  check_block<3>(values);
  check_block<4>(values);
  check_block<5>(values);
}

TEST_CASE("decimals: blocks write what single numbers are written as") {
  std::mt19937 random(1);
  std::array<float, DecimalBlock::kSize> values;
  for (int round = 0; round < 4000; ++round) {
    for (float& value : values) {
      const auto bits = static_cast<uint32_t>(random());
      if (round % 4 == 0) {
        std::memcpy(&value, &bits, sizeof(value));
      } else if (round % 4 == 1) {  // few digits
        value = static_cast<float>(static_cast<int>(bits % 20001) - 10000) /
                std::pow(10.0F, static_cast<float>(bits >> 16 & 7));
      } else {
        value = std::ldexp(static_cast<float>(static_cast<int32_t>(bits)),
                           static_cast<int>(random() % 34) - 45);
      }
    }
    check_blocks(values);
  }
  // Powers of ten and half of the last digit that is written, and what is next to them.
  for (int exponent = -6; exponent < 8; ++exponent) {
    for (double factor : {1.0, 9.5, 9.95, 9.995, 9.9995, 9.99995, 9.999995, 1.5, 1.05}) {
      const auto near = static_cast<float>(factor * std::pow(10.0, exponent));
      float value = near;
      for (int i = 0; i < 16; ++i) value = std::nextafter(value, 0.0F);
      for (float& each : values) each = std::exchange(value, std::nextafter(value, HUGE_VALF));
      check_blocks(values);
    }
  }
  values.fill(std::numeric_limits<float>::quiet_NaN());
  values[1] = HUGE_VALF;
  values[2] = -HUGE_VALF;
  values[3] = 0;
  values[4] = -0.0F;
  DecimalBlock block;
  block.find<0>(values.data());
  for (int i = 0; i < DecimalBlock::kSize; ++i) CHECK(!block.has(i));
}

TEST_CASE("whole numbers") {
  auto check = [](uint64_t value) {
    char text[kDecimalSize];
    CHECK_QUICKLY(std::string(text, write_integer(text, value)), std::to_string(value));
  };
  for (uint64_t ten = 1;; ten *= 10) {
    for (uint64_t value : {ten - 1, ten, ten + 1, 2 * ten, 9 * ten}) check(value);
    if (ten > std::numeric_limits<uint64_t>::max() / 10) break;
  }
  check(std::numeric_limits<uint64_t>::max());
  std::mt19937_64 random(1);
  for (int i = 0; i < 10000; ++i) check(random() >> (random() % 64));
}

}  // namespace
}  // namespace minihlo::internal
