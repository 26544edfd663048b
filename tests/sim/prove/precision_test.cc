#include "sim/prove/precision.h"

#include <array>
#include <limits>

#include <doctest/doctest.h>

#include "ir/numbers.h"

namespace minihlo::prove {
namespace {

TEST_CASE("rounding: parts of complex products may differ in the signs of zeros, and overflow") {
  using Value = std::array<double, 2>;
  auto may_be = [](ElementType type, const Value& a, const Value& b, double largest) {
    const std::byte* const elements[2] = {reinterpret_cast<const std::byte*>(a.data()),
                                          reinterpret_cast<const std::byte*>(b.data())};
    return may_be_rounding(type, elements, largest, 0);
  };
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(may_be(ElementType::C128, {0, -0.0}, {0, 0}, 1));
  CHECK_FALSE(may_be(ElementType::F64, {-0.0}, {0}, 1));
  CHECK_FALSE(may_be(ElementType::C128, {0, -1}, {0, 1}, 1));
  CHECK(may_be(ElementType::C128, {infinity, 0}, {0, infinity}, 1e300));
  CHECK(may_be(ElementType::F64, {infinity}, {1}, 1e300));
  CHECK_FALSE(may_be(ElementType::F64, {infinity}, {1}, 1e30));
  // 5 * -7 * -6, where values lie 16 apart.
  std::array<std::byte, 8> left{}, right{};
  REQUIRE(encode_float(ElementType::F8E4M3FNUZ, 224, left.data()));
  REQUIRE(encode_float(ElementType::F8E4M3FNUZ, 208, right.data()));
  CHECK(may_be_rounding(ElementType::F8E4M3FNUZ, {left.data(), right.data()}, 7, 0));
  REQUIRE(encode_float(ElementType::F8E4M3FNUZ, -208, right.data()));
  CHECK_FALSE(may_be_rounding(ElementType::F8E4M3FNUZ, {left.data(), right.data()}, 7, 0));
}

}  // namespace
}  // namespace minihlo::prove
