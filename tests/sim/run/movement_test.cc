// Movement of results that are written past the cache.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

std::vector<uint8_t> counted(int64_t count) {
  std::vector<uint8_t> elements(static_cast<size_t>(count));
  uint32_t state = 1;
  for (uint8_t& element : elements) {
    state = state * 1664525 + 1013904223;
    element = static_cast<uint8_t>(state >> 24);
  }
  return elements;
}

// Compares with result element (row, column) as `expected` has it.
template <class Expected>
void check(const std::string& text, const Inputs& inputs, int64_t rows, int64_t columns,
           const Expected& expected) {
  CAPTURE(text);
  for (int threads : {1, 3}) {
    RunOptions options;
    options.threads = threads;
    const auto result = simulate(*testing::parsed(text), {1, 1}, inputs, options);
    REQUIRE(result.has_value());
    const std::vector<uint8_t> values = testing::values<uint8_t>(*result, 0);
    REQUIRE(values.size() == static_cast<size_t>(rows * columns));
    int64_t wrong = 0;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        wrong += values[static_cast<size_t>(row * columns + column)] != expected(row, column);
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("movement: parts of short rows are put together") {
  const int64_t rows = 180'001, a_size = 66, b_size = 29;
  const std::vector<uint8_t> a = counted(rows * a_size), b = counted(rows * b_size);
  const Inputs inputs = {{testing::tensor(ElementType::U8, {rows, a_size}, a),
                          testing::tensor(ElementType::U8, {rows, b_size}, b)}};
  check(fmt::format("HloModule m\n\nENTRY e {{\n  a = u8[{0},66] parameter(0)\n"
                    "  b = u8[{0},29] parameter(1)\n"
                    "  ROOT c = u8[{0},95] concatenate(a, b), dimensions={{1}}\n}}\n",
                    rows),
        inputs, rows, a_size + b_size, [&](int64_t row, int64_t column) {
          return column < a_size ? a[static_cast<size_t>(row * a_size + column)]
                                 : b[static_cast<size_t>(row * b_size + column - a_size)];
        });
  // Rows before and behind, and between the others, and columns.
  check(fmt::format("HloModule m\n\nENTRY e {{\n  a = u8[{0},66] parameter(0)\n"
                    "  unused = u8[{0},29] parameter(1)\n  z = u8[] constant(7)\n"
                    "  ROOT p = u8[{1},74] pad(a, z), padding=2_1_1x3_5\n}}\n",
                    rows, 2 * rows + 2),
        inputs, 2 * rows + 2, 74, [&](int64_t row, int64_t column) {
          const bool is_element =
              row >= 2 && row % 2 == 0 && row / 2 <= rows && column >= 3 && column < 69;
          return is_element ? a[static_cast<size_t>((row / 2 - 1) * a_size + column - 3)] : 7;
        });
}

}  // namespace
}  // namespace minihlo
