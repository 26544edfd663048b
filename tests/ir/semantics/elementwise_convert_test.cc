// convert, stochastic-convert and reduce-precision.
#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/ir/semantics/elementwise_calls.h"

namespace minihlo {
namespace {

using namespace testing;
using ElementType::F32, ElementType::S1, ElementType::S8, ElementType::U32;

TEST_CASE("floats to integers: cut off, saturate, NaN is 0") {
  const std::vector<double> x = {1.9, -1.9, 1e30, -1e30, NAN, 127.5, -128.9, 255.9, -0.9};
  CHECK(convert<int8_t>(x) == std::vector<int8_t>{1, -1, 127, -128, 0, 127, -128, 127, 0});
  CHECK(convert<uint8_t>(x) == std::vector<uint8_t>{1, 0, 255, 0, 0, 127, 0, 255, 0});
  CHECK(bit_patterns(convert<NarrowInt<4, true>>(x)) ==
        std::vector<uint64_t>{1, 255, 7, 0xf8, 0, 7, 0xf8, 7, 0});
  CHECK(bit_patterns(convert<NarrowInt<1, true>>(x)) ==
        std::vector<uint64_t>{0, 255, 0, 255, 0, 0, 255, 0, 0});
  const std::vector<float> wide = {0x1p63f, -0x1p63f, 0x1p64f, 0x1.fffffep62f, 0x1p31f, -0x1p40f};
  CHECK(convert<int64_t>(wide) ==
        std::vector<int64_t>{
            std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(),
            std::numeric_limits<int64_t>::max(), 0x7fffff8000000000, 0x80000000, -0x10000000000});
  CHECK(convert<uint64_t>(wide) == std::vector<uint64_t>{0x8000000000000000, 0, 0xffffffffffffffff,
                                                         0x7fffff8000000000, 0x80000000, 0});
  CHECK(convert<int32_t>(wide)[4] == std::numeric_limits<int32_t>::max());
  CHECK(convert<uint32_t>(wide)[4] == 0x80000000);
  CHECK(bit_patterns(convert<Pred>(x)) == std::vector<uint64_t>(x.size(), 1));
  CHECK(bit_patterns(convert<Pred>(std::vector<float>{-0.0f})) == std::vector<uint64_t>{0});
}

TEST_CASE("integers and f64 round once to the narrow floats") {
  // Half way between two values of bf16 and of f16, and one beyond, at the end of 64 bits.
  const int64_t tie = (int64_t{0x101} << 54);
  const std::vector<int64_t> x = {tie, tie + 1, tie - 1, -tie - 1, 0x7fffffffffffffff};
  const double unit = 0x1p54;
  const std::vector<BF16> result = convert<BF16>(x);
  CHECK(static_cast<double>(result[0]) == 0x100 * unit);
  CHECK(static_cast<double>(result[1]) == 0x102 * unit);
  CHECK(static_cast<double>(result[2]) == 0x100 * unit);
  CHECK(static_cast<double>(result[3]) == -0x102 * unit);
  CHECK(static_cast<double>(result[4]) == 0x1p63);
  // f32 would make this a tie.
  CHECK(static_cast<float>(convert<F16>(std::vector<double>{1 + 0x1p-11 + 0x1p-40})[0]) ==
        1 + 0x1p-10);
  CHECK(static_cast<float>(convert<F16>(std::vector<int32_t>{2049, 2051, 65519, 65520})[2]) ==
        65504);
}

TEST_CASE("every pair of types converts, a value that both hold unchanged") {
  for (int i = 0; i < kElementTypeCount; ++i) {
    for (int j = 0; j < kElementTypeCount; ++j) {
      const auto from = static_cast<ElementType>(i);
      const auto to = static_cast<ElementType>(j);
      if (from == S1 || to == S1) continue;  // has no 1
      INFO(std::string(to_string(from)), " to ", std::string(to_string(to)));
      const auto one = [](ElementType type) {
        alignas(16) std::array<std::byte, 16> element{};
        dispatch(type, [&]<class T>(std::type_identity<T>) {
          T value;
          if constexpr (std::is_same_v<T, Pred>) {
            value = true;
          } else if constexpr (IsMiniFloat<T>::value) {
            value = T(1.0f);
          } else {
            value = T(1);
          }
          std::memcpy(element.data(), &value, sizeof(T));
        });
        return element;
      };
      const auto input = one(from);
      alignas(16) std::array<std::byte, 16> output{};
      const std::byte* operands[] = {input.data()};
      const int64_t steps[] = {1};
      lookup(Opcode::kConvert, {from}, to)(1, operands, steps, output.data());
      CHECK(output == one(to));
    }
  }
}

TEST_CASE("reduce-precision rounds to the fields and flushes what would be denormal there") {
  std::mt19937 random(1);
  std::vector<float> values = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 0x1p-14f, 0x1.ffcp-15f};
  for (int i = 0; i < 20000; ++i) {
    values.push_back(std::ldexp(static_cast<float>(static_cast<int32_t>(random())),
                                static_cast<int>(random() % 64) - 60));
  }
  const std::vector<float> result = unary(Opcode::kReducePrecision, values, fields(5, 10));
  int wrong = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    // Rounded to 10 bits wherever the exponent lies, then cut to what f16 has as normal values.
    const float rounded = static_cast<float>(F16(values[i]));
    float want = rounded;
    if (std::fabs(values[i]) < 0x1p-13f) {
      want = static_cast<float>(F16(values[i] * 0x1p10f)) * 0x1p-10f;
      if (std::fabs(want) < 0x1p-14f) want = std::copysign(0.0f, values[i]);
    }
    wrong += std::bit_cast<uint32_t>(want) != std::bit_cast<uint32_t>(result[i]);
  }
  CHECK(wrong == 0);
  CHECK(bit_patterns(unary<F16>(Opcode::kReducePrecision, {F16::from_bits(1)}, fields(5, 10))) ==
        std::vector<uint64_t>{1});
}

TEST_CASE("stochastic-convert adds one where the random bits lie below the part cut off") {
  const ElementwiseOp op = lookup(Opcode::kStochasticConvert, {F32, U32}, S8);
  const std::vector<float> x = {1.25f, 1.25f, -1.25f, -1.25f, 2, 500, -500, NAN, -INFINITY};
  const std::vector<uint32_t> r = {0x3fffffff, 0x40000000, 0x3fffffff, 0x40000000, 0, 0, 0, 0, 0};
  CHECK(apply<int8_t>(op, x, r) == std::vector<int8_t>{2, 1, -2, -1, 2, 127, -128, 0, -128});
}

}  // namespace
}  // namespace minihlo
