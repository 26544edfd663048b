// The opcode rng: what is the same from run to run, and what differs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

using testing::run_text;
using testing::values;

using F32 = std::vector<float>;

constexpr const char* kText = R"(HloModule m
cond { p = (s32[], f32[1000], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  two = s32[] constant(2)
  ROOT r = pred[] compare(i, two), direction=LT }
body { p = (s32[], f32[1000], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  last = f32[1000] get-tuple-element(p), index=2
  low = f32[] constant(-1)
  high = f32[] constant(3)
  x = f32[1000] rng(low, high), distribution=rng_uniform
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT t = (s32[], f32[1000], f32[1000]) tuple(j, last, x) }
ENTRY e {
  zero = s32[] constant(0)
  z = f32[1000] iota(), iota_dimension=0
  init = (s32[], f32[1000], f32[1000]) tuple(zero, z, z)
  w = (s32[], f32[1000], f32[1000]) while(init), condition=cond, body=body
  first = f32[1000] get-tuple-element(w), index=1
  second = f32[1000] get-tuple-element(w), index=2
  mean = f32[] constant(5)
  deviation = f32[] constant(2)
  normal = f32[1000] rng(mean, deviation), distribution=rng_normal
  least = s8[] constant(-3)
  beyond = s8[] constant(2)
  whole = s8[1000] rng(least, beyond), distribution=rng_uniform
  no = pred[] constant(false)
  yes = pred[] constant(true)
  coins = pred[1000] rng(no, yes), distribution=rng_uniform
  ROOT t = (f32[1000], f32[1000], f32[1000], s8[1000], pred[1000]) tuple(first, second, normal, whole, coins)
})";

RunResult drawn(uint64_t seed, int threads = 0) {
  RunOptions options;
  options.seed = seed;
  options.threads = threads;
  auto result = run_text(kText, 1, 2, options);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return *std::move(result);
}

TEST_CASE("rng: the same for the same seed, on any number of threads") {
  RunResult a = drawn(1, 1), b = drawn(1, 3), other = drawn(2);
  for (size_t leaf = 0; leaf < 3; ++leaf) {
    CHECK(values<float>(a, 0, leaf) == values<float>(b, 0, leaf));
    CHECK(values<float>(a, 0, leaf) != values<float>(other, 0, leaf));
  }
}

TEST_CASE("rng: another device, instruction or trip gives other numbers") {
  RunResult a = drawn(1);
  for (size_t leaf = 0; leaf < 3; ++leaf) {
    CHECK(values<float>(a, 0, leaf) != values<float>(a, 1, leaf));
  }
  CHECK(values<float>(a, 0, 0) != values<float>(a, 0, 1));
}

TEST_CASE("rng: numbers are distributed as they should be") {
  RunResult a = drawn(7);
  double sum = 0;
  for (float x : values<float>(a, 0, 1)) {
    CHECK((x >= -1 && x < 3));
    sum += x;
  }
  CHECK(std::fabs(sum / 1000 - 1) < 0.15);  // four standard deviations of the mean
  double mean = 0, variance = 0;
  for (float x : values<float>(a, 0, 2)) mean += x / 1000;
  for (float x : values<float>(a, 0, 2)) variance += (x - mean) * (x - mean) / 1000;
  CHECK(std::fabs(mean - 5) < 0.26);
  CHECK(std::fabs(variance - 4) < 0.75);
  std::vector<int> counts(5, 0);
  for (int8_t x : values<int8_t>(a, 0, 3)) {
    REQUIRE((x >= -3 && x < 2));
    ++counts[static_cast<size_t>(x + 3)];
  }
  CHECK(*std::min_element(counts.begin(), counts.end()) > 140);
  std::vector<uint8_t> coins = values<uint8_t>(a, 0, 4);
  auto heads = std::count(coins.begin(), coins.end(), 1);
  CHECK((heads > 430 && heads < 570));
  CHECK(heads + std::count(coins.begin(), coins.end(), 0) == 1000);
}

}  // namespace
}  // namespace minihlo
