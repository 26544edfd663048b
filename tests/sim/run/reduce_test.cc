// Sums of rows in the order that docs/numerics.md fixes, whatever rows go together.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cstring>
#include <random>

#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

// Blocks of 32 in the middle of the room that they have, until one is left.
float blocked_sum(std::vector<float> elements) {
  constexpr int64_t kExtent = 32;
  while (static_cast<int64_t>(elements.size()) > kExtent) {
    const auto size = static_cast<int64_t>(elements.size());
    const int64_t count = (size + kExtent - 1) / kExtent, missing = (count * kExtent - size) / 2;
    std::vector<float> sums;
    for (int64_t block = 0; block < count; ++block) {
      const int64_t first = std::max<int64_t>(0, block * kExtent - missing);
      const int64_t end = std::min(size, (block + 1) * kExtent - missing);
      float sum = elements[static_cast<size_t>(first)];
      for (int64_t i = first + 1; i < end; ++i) sum += elements[static_cast<size_t>(i)];
      sums.push_back(sum);
    }
    elements = std::move(sums);
  }
  float sum = 0.5F;
  for (float element : elements) sum += element;
  return sum;
}

TEST_CASE("reduce: rows of all lengths in blocks") {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (int64_t rows : {1, 7, 37}) {
    for (int64_t size : {32, 33, 50, 64, 100, 256, 300, 511, 1000, 1056}) {
      CAPTURE(rows);
      CAPTURE(size);
      std::vector<float> elements, expected;
      for (int64_t row = 0; row < rows; ++row) {
        std::vector<float> of_row;
        for (int64_t i = 0; i < size; ++i) of_row.push_back(normal(random));
        elements.insert(elements.end(), of_row.begin(), of_row.end());
        expected.push_back(blocked_sum(of_row));
      }
      const auto module = testing::parsed(fmt::format(
          "HloModule m\n\nsum {{\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
          "  ROOT c = f32[] add(a, b)\n}}\n\nENTRY e {{\n  x = f32[{0},{1}] parameter(0)\n"
          "  h = f32[] constant(0.5)\n"
          "  ROOT r = f32[{0}] reduce(x, h), dimensions={{1}}, to_apply=sum\n}}\n",
          rows, size));
      const auto result =
          simulate(*module, {1, 1}, {{testing::tensor(ElementType::F32, {rows, size}, elements)}});
      REQUIRE(result.has_value());
      CHECK(testing::values<float>(*result, 0) == expected);
    }
  }
}

}  // namespace
}  // namespace minihlo
