// dot, ragged-dot and convolution: sums in the order that docs/numerics.md fixes, whatever the size
// of blocks and tiles.
#include <cmath>
#include <random>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

using testing::tensor;
using testing::values;

std::vector<float> random_floats(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> result(count);
  for (float& value : result) value = normal(random);
  return result;
}

tl::expected<RunResult, Stop> run_with(const std::string& text, const Inputs& inputs,
                                       int threads = 1) {
  std::unique_ptr<Module> module = testing::parsed(text);
  RunOptions options;
  options.threads = threads;
  return simulate(*module, {1, 1}, inputs, options);
}

TEST_CASE("dot: each sum goes over the contracted indices in order, at any size") {
  // Sizes around those of tiles and blocks, of each side, in both layouts.
  const int64_t sizes[][3] = {{1, 1, 1},     {7, 5, 3},      {8, 256, 32},  {9, 257, 33},
                              {193, 300, 5}, {3, 513, 1025}, {200, 3, 530}, {64, 1, 64},
                              {1, 700, 1},   {1, 64, 600},   {600, 64, 1},  {5, 0, 4},
                              {2, 20, 5000}};
  uint32_t seed = 1;
  for (const auto& [m, k, n] : sizes) {
    for (int form = 0; form < 4; ++form) {
      const bool left_turned = form & 1, right_turned = form & 2;
      CAPTURE(m);
      CAPTURE(k);
      CAPTURE(n);
      CAPTURE(form);
      std::vector<float> a = random_floats(static_cast<size_t>(m * k), seed++);
      std::vector<float> b = random_floats(static_cast<size_t>(k * n), seed++);
      auto left_dims = left_turned ? std::vector{k, m} : std::vector{m, k};
      auto right_dims = right_turned ? std::vector{n, k} : std::vector{k, n};
      auto result = run_with(
          fmt::format("HloModule d\nENTRY e {{\n  a = f32[{},{}] parameter(0)\n"
                      "  b = f32[{},{}] parameter(1)\n  ROOT d = f32[{},{}] dot(a, b), "
                      "lhs_contracting_dims={{{}}}, rhs_contracting_dims={{{}}}\n}}\n",
                      left_dims[0], left_dims[1], right_dims[0], right_dims[1], m, n,
                      left_turned ? 0 : 1, right_turned ? 1 : 0),
          {{tensor(ElementType::F32, left_dims, a), tensor(ElementType::F32, right_dims, b)}}, 3);
      REQUIRE(result);
      std::vector<float> expected(static_cast<size_t>(m * n));
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          float sum = 0;
          for (int64_t x = 0; x < k; ++x) {
            float p = a[static_cast<size_t>(left_turned ? x * m + i : i * k + x)];
            float q = b[static_cast<size_t>(right_turned ? j * k + x : x * n + j)];
            sum = x == 0 ? p * q : std::fma(p, q, sum);
          }
          expected[static_cast<size_t>(i * n + j)] = sum;
        }
      }
      CHECK(values<float>(*result, 0) == expected);
    }
  }
}

TEST_CASE("dot: a row has the same bits alone and in the whole") {
  constexpr int64_t kRows = 210, kDepth = 300, kColumns = 70;
  std::vector<float> a = random_floats(kRows * kDepth, 3), b = random_floats(kDepth * kColumns, 4);
  auto run = [&](int64_t first, int64_t rows, std::string_view type) {
    std::vector<float> part(a.begin() + first * kDepth, a.begin() + (first + rows) * kDepth);
    auto result =
        run_with(fmt::format("HloModule d\nENTRY e {{\n  p = f32[{0},{1}] parameter(0)\n"
                             "  q = f32[{1},{2}] parameter(1)\n  a = {3}[{0},{1}] convert(p)\n"
                             "  b = {3}[{1},{2}] convert(q)\n  d = {3}[{0},{2}] dot(a, b), "
                             "lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}\n"
                             "  ROOT r = f32[{0},{2}] convert(d)\n}}\n",
                             rows, kDepth, kColumns, type),
                 {{tensor(ElementType::F32, {rows, kDepth}, part),
                   tensor(ElementType::F32, {kDepth, kColumns}, b)}});
    REQUIRE(result);
    return values<float>(*result, 0);
  };
  for (std::string_view type : {"f32", "f64", "bf16", "f16", "s32"}) {
    CAPTURE(std::string(type));
    const std::vector<float> whole = run(0, kRows, type);
    for (int64_t row : {int64_t{0}, int64_t{5}, int64_t{191}, int64_t{192}, kRows - 1}) {
      auto from = whole.begin() + row * kColumns;
      CHECK(run(row, 1, type) == std::vector<float>(from, from + kColumns));
    }
    auto from = whole.begin() + 100 * kColumns;
    CHECK(run(100, 13, type) == std::vector<float>(from, from + 13 * kColumns));
  }
}

TEST_CASE("ragged-dot: each group meets its own slice, or makes its own") {
  const std::vector<float> a{1, 2, 3, 4, 5, 6}, b{1, 10, 100, 1000};
  auto rows =
      run_with(R"(HloModule r
ENTRY e {
  a = f32[3,2] parameter(0)
  b = f32[2,2,1] parameter(1)
  s = s32[2] parameter(2)
  ROOT d = f32[3,1] ragged-dot(a, b, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}
})",
               {{tensor(ElementType::F32, {3, 2}, a), tensor(ElementType::F32, {2, 2, 1}, b),
                 tensor(ElementType::S32, {2}, std::vector<int32_t>{1, 1})}});
  REQUIRE(rows);
  CHECK(values<float>(*rows, 0) == std::vector<float>{21, 4300, 0});

  auto contracted = run_with(R"(HloModule r
ENTRY e {
  a = f32[2,3] parameter(0)
  b = f32[3,1] parameter(1)
  s = s32[2] parameter(2)
  ROOT d = f32[2,2,1] ragged-dot(a, b, s), lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}
})",
                             {{tensor(ElementType::F32, {2, 3}, a),
                               tensor(ElementType::F32, {3, 1}, std::vector<float>{1, 10, 100}),
                               tensor(ElementType::S32, {2}, std::vector<int32_t>{1, 2})}});
  REQUIRE(contracted);
  CHECK(values<float>(*contracted, 0) == std::vector<float>{1, 4, 320, 650});

  // Sizes of their own for each batch.
  auto batches =
      run_with(R"(HloModule r
ENTRY e {
  a = f32[2,3,1] parameter(0)
  b = f32[2,2,1,1] parameter(1)
  s = s32[2,2] parameter(2)
  ROOT d = f32[2,3,1] ragged-dot(a, b, s), lhs_batch_dims={0}, rhs_batch_dims={1}, lhs_contracting_dims={2}, rhs_contracting_dims={2}, lhs_ragged_dims={1}, rhs_group_dims={0}
})",
               {{tensor(ElementType::F32, {2, 3, 1}, a), tensor(ElementType::F32, {2, 2, 1, 1}, b),
                 tensor(ElementType::S32, {2, 2}, std::vector<int32_t>{2, 1, 0, 2})}});
  REQUIRE(batches);
  CHECK(values<float>(*batches, 0) == std::vector<float>{1, 2, 300, 4000, 5000, 0});
}

}  // namespace
}  // namespace minihlo
