#include "ir/semantics/elementwise.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/ir/semantics/elementwise_calls.h"

namespace minihlo {
namespace {

using namespace testing;
using ElementType::C64, ElementType::F32, ElementType::F64, ElementType::PRED, ElementType::S1,
    ElementType::S2, ElementType::S32, ElementType::S4, ElementType::S8, ElementType::U1,
    ElementType::U2, ElementType::U32, ElementType::U4, ElementType::U8;

float with_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

constexpr uint32_t kNaN = 0x7fc00000;

// x as a value of so many bits.
int64_t wrap(int64_t x, int bits, bool is_signed) {
  const int64_t low = x & ((int64_t{1} << bits) - 1);
  return is_signed && low >> (bits - 1) ? low - (int64_t{1} << bits) : low;
}

int64_t power_by_steps(int64_t base, int64_t exponent, int bits, bool is_signed) {
  if (exponent < 0) return base == 1 ? 1 : base == -1 ? (exponent % 2 ? -1 : 1) : 0;
  int64_t result = 1;
  for (; exponent > 0; --exponent) result = wrap(result * base, bits, is_signed);
  return result;
}

// What the opcode means on integers, in 64 bits, before it is wrapped.
int64_t integer_reference(Opcode opcode, int64_t a, int64_t b, int bits, bool is_signed) {
  const int64_t raw_a = wrap(a, bits, false);
  const int64_t amount = wrap(b, bits, false);
  switch (opcode) {
    case Opcode::kAdd:
      return a + b;
    case Opcode::kSubtract:
      return a - b;
    case Opcode::kMultiply:
      return a * b;
    case Opcode::kMulhi:
      return (a * b) >> bits;
    case Opcode::kDivide:
      return b == 0 ? -1 : a / b;
    case Opcode::kRemainder:
      return b == 0 ? a : a % b;
    case Opcode::kPower:
      return power_by_steps(a, b, bits, is_signed);
    case Opcode::kMaximum:
      return std::max(a, b);
    case Opcode::kMinimum:
      return std::min(a, b);
    case Opcode::kAnd:
      return a & b;
    case Opcode::kOr:
      return a | b;
    case Opcode::kXor:
      return a ^ b;
    case Opcode::kShiftLeft:
      return amount >= bits ? 0 : raw_a << amount;
    case Opcode::kShiftRightLogical:
      return amount >= bits ? 0 : raw_a >> amount;
    case Opcode::kShiftRightArithmetic:
      return wrap(a, bits, true) >> std::min<int64_t>(amount, bits - 1);
    case Opcode::kAbs:
      return std::abs(a);
    case Opcode::kNegate:
      return -a;
    case Opcode::kSign:
      return (a > 0) - (a < 0);
    case Opcode::kNot:
      return ~a;
    case Opcode::kPopulationCount:
      return std::popcount(static_cast<uint64_t>(raw_a));
    case Opcode::kClz:
      return std::countl_zero(static_cast<uint64_t>(raw_a)) - (64 - bits);
    default:
      return 0;
  }
}

// Calls `visit` with the value type of every integer type of at most a byte.
template <class Visitor>
void for_each_small_integer(Visitor visit) {
  for (ElementType type : {S1, S2, S4, S8, U1, U2, U4, U8}) {
    INFO(std::string(to_string(type)));
    dispatch(type, [&]<class T>(std::type_identity<T>) {
      if constexpr (IsNarrowInt<T>::value || (std::is_integral_v<T> && sizeof(T) == 1)) {
        visit(std::type_identity<T>{});
      }
    });
  }
}

template <class T>
std::vector<T> all_values() {
  const int bits = info(element_type_of<T>).bits;
  std::vector<T> values;
  for (int64_t i = 0; i < int64_t{1} << bits; ++i) {
    values.push_back(T(static_cast<int8_t>(wrap(i, bits, is_signed(element_type_of<T>)))));
  }
  return values;
}

TEST_CASE("integer opcodes, on all values of the small types") {
  for_each_small_integer([]<class T>(std::type_identity<T>) {
    const int bits = info(element_type_of<T>).bits;
    const bool signed_type = is_signed(element_type_of<T>);
    std::vector<T> a, b;
    for (T x : all_values<T>()) {
      for (T y : all_values<T>()) {
        a.push_back(x);
        b.push_back(y);
      }
    }
    using enum Opcode;
    for (Opcode opcode :
         {kAdd, kSubtract, kMultiply, kMulhi, kDivide, kRemainder, kPower, kMaximum, kMinimum, kAnd,
          kOr, kXor, kShiftLeft, kShiftRightLogical, kShiftRightArithmetic}) {
      INFO(std::string(to_string(opcode)));
      const std::vector<T> result = binary<T>(opcode, a, b);
      int wrong = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        wrong += static_cast<int64_t>(result[i]) !=
                 wrap(integer_reference(opcode, a[i], b[i], bits, signed_type), bits, signed_type);
      }
      CHECK(wrong == 0);
    }
    for (Opcode opcode : {kAbs, kNegate, kSign, kNot, kPopulationCount, kClz}) {
      if (!signed_type && (opcode == kAbs || opcode == kSign)) continue;
      INFO(std::string(to_string(opcode)));
      const std::vector<T> result = unary<T>(opcode, a);
      int wrong = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        wrong += static_cast<int64_t>(result[i]) !=
                 wrap(integer_reference(opcode, a[i], 0, bits, signed_type), bits, signed_type);
      }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("integer opcodes at the ends of the wide types") {
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  using V = std::vector<int64_t>;
  CHECK(binary<int64_t>(Opcode::kDivide, {kLeast, 7, -7}, {-1, 0, 2}) == V{kLeast, -1, -3});
  CHECK(binary<int64_t>(Opcode::kRemainder, {kLeast, 7, -7}, {-1, 0, 2}) == V{0, 7, -1});
  CHECK(binary<int64_t>(Opcode::kMulhi, {kLeast, -1}, {kLeast, 1}) == V{int64_t{1} << 62, -1});
  CHECK(binary<int64_t>(Opcode::kPower, {3, -1, 2, 1}, {41, -3, -1, kLeast}) ==
        V{-420491770248316829, -1, 0, 1});
  CHECK(binary<uint32_t>(Opcode::kDivide, {5, 0}, {0, 0}) ==
        std::vector<uint32_t>{0xffffffff, 0xffffffff});
  CHECK(binary<uint16_t>(Opcode::kMultiply, {65535}, {65535}) == std::vector<uint16_t>{1});
  CHECK(binary<uint32_t>(Opcode::kPower, {3, 2}, {0x80000002, 0x80000000}) ==
        std::vector<uint32_t>{9, 0});
  CHECK(binary<int32_t>(Opcode::kShiftRightArithmetic, {-8, -8, 8}, {1, -1, 99}) ==
        std::vector<int32_t>{-4, -1, 0});
}

TEST_CASE("pred arithmetic is logic") {
  const std::vector<Pred> a = {false, false, true, true};
  const std::vector<Pred> b = {false, true, false, true};
  using V = std::vector<uint64_t>;
  for (Opcode opcode : {Opcode::kAdd, Opcode::kOr, Opcode::kMaximum}) {
    CHECK(bit_patterns(binary(opcode, a, b)) == V{0, 1, 1, 1});
  }
  for (Opcode opcode : {Opcode::kMultiply, Opcode::kAnd, Opcode::kMinimum}) {
    CHECK(bit_patterns(binary(opcode, a, b)) == V{0, 0, 0, 1});
  }
  CHECK(bit_patterns(binary(Opcode::kXor, a, b)) == V{0, 1, 1, 0});
  CHECK(bit_patterns(unary(Opcode::kNot, b)) == V{1, 0, 1, 0});
}

TEST_CASE("a NaN made by arithmetic is the canonical one") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> a = {infinity, 0, with_bits(0xffc12345), with_bits(0x7f800001)};
  const std::vector<float> b = {-infinity, 0, 1, 1};
  using enum Opcode;
  for (Opcode opcode : {kAdd, kMultiply, kDivide, kRemainder, kMaximum, kAtan2, kPower}) {
    INFO(std::string(to_string(opcode)));
    for (float x : binary(opcode, a, b)) {
      if (std::isnan(x)) CHECK(std::bit_cast<uint32_t>(x) == kNaN);
    }
  }
  CHECK(bit_patterns(binary<float>(kAdd, a, b)) == std::vector<uint64_t>{kNaN, 0, kNaN, kNaN});
  CHECK(bit_patterns(unary<float>(kSqrt, {-1})) == std::vector<uint64_t>{kNaN});
  CHECK(bit_patterns(unary<BF16>(kLog, {BF16(-1.0f)})) == std::vector<uint64_t>{0x7fc0});
  CHECK(bit_patterns(convert<double>(std::vector<float>{with_bits(0xffc12345)})) ==
        std::vector<uint64_t>{0x7ff8000000000000});
}

TEST_CASE("movement and signs keep NaN payloads") {
  const std::vector<float> nan = {with_bits(0xffc12345), with_bits(0x7f800001)};
  using V = std::vector<uint64_t>;
  CHECK(bit_patterns(unary(Opcode::kNegate, nan)) == V{0x7fc12345, 0xff800001});
  CHECK(bit_patterns(unary(Opcode::kAbs, nan)) == V{0x7fc12345, 0x7f800001});
  CHECK(bit_patterns(unary(Opcode::kReal, nan)) == V{0xffc12345, 0x7f800001});
  CHECK(bit_patterns(convert<float>(nan)) == V{0xffc12345, 0x7f800001});
  CHECK(bit_patterns(apply<float>(lookup(Opcode::kSelect, {PRED, F32, F32}, F32),
                                  std::vector<Pred>{true, false}, nan, nan)) ==
        V{0xffc12345, 0x7f800001});
  CHECK(bit_patterns(apply<std::complex<float>>(lookup(Opcode::kComplex, {F32, F32}, C64), nan,
                                                nan)) == V{0xffc12345ffc12345, 0x7f8000017f800001});
  // Without a sign bit of its own, zero and the one NaN stay.
  CHECK(bit_patterns(unary<F8E4M3FNUZ>(Opcode::kNegate, {F8E4M3FNUZ(0.0f), F8E4M3FNUZ(NAN),
                                                         F8E4M3FNUZ(1.0f)})) == V{0, 0x80, 0xc0});
}

TEST_CASE("maximum, minimum and clamp: NaN wins, -0 is less than +0") {
  const std::vector<float> values = {-0.0f, 0.0f, 1, -2, NAN, INFINITY, -INFINITY};
  for (float a : values) {
    for (float b : values) {
      const float high = binary<float>(Opcode::kMaximum, {a}, {b})[0];
      const float low = binary<float>(Opcode::kMinimum, {a}, {b})[0];
      if (std::isnan(a) || std::isnan(b)) {
        CHECK(std::isnan(high));
        CHECK(std::isnan(low));
      } else {
        const bool a_less = a < b || (a == b && std::signbit(a));
        CHECK(std::bit_cast<uint32_t>(high) == std::bit_cast<uint32_t>(a_less ? b : a));
        CHECK(std::bit_cast<uint32_t>(low) == std::bit_cast<uint32_t>(a_less ? a : b));
      }
    }
  }
  const ElementwiseOp clamp = lookup(Opcode::kClamp, {F32, F32, F32}, F32);
  using V = std::vector<float>;
  CHECK(apply<float>(clamp, V{0}, V{-1, 0.5, 3}, V{1}) == V{0, 0.5, 1});
  CHECK(apply<float>(clamp, V{2}, V{-1, 0.5, 3}, V{1}) == V{1, 1, 1});
  CHECK(std::isnan(apply<float>(clamp, V{0}, V{NAN}, V{1})[0]));
  CHECK(std::isnan(apply<float>(clamp, V{0}, V{1}, V{NAN})[0]));
}

TEST_CASE("rounding to integers agrees with the mathematics library") {
  std::mt19937 random(1);
  std::vector<float> values = {0.0f, -0.0f,   0.49999997f, -0.49999997f,   INFINITY, -INFINITY,
                               NAN,  0x1p22f, 0x1p23f,     0x1p23f - 0.5f, 0x1p24f,  8388609.0f};
  for (int i = -40; i <= 40; ++i) values.push_back(static_cast<float>(i) / 4);
  for (int i = 0; i < 100000; ++i) values.push_back(with_bits(static_cast<uint32_t>(random())));
  const auto check = [&](Opcode opcode, auto function) {
    INFO(std::string(to_string(opcode)));
    const std::vector<float> narrow = unary(opcode, values);
    const std::vector<double> wide = unary(opcode, convert<double>(values));
    int wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const float want = std::isnan(values[i]) ? with_bits(kNaN) : function(values[i]);
      wrong += std::bit_cast<uint32_t>(narrow[i]) != std::bit_cast<uint32_t>(want);
      wrong +=
          std::bit_cast<uint32_t>(static_cast<float>(wide[i])) != std::bit_cast<uint32_t>(want);
    }
    CHECK(wrong == 0);
  };
  check(Opcode::kFloor, [](float x) { return std::floor(x); });
  check(Opcode::kCeil, [](float x) { return std::ceil(x); });
  check(Opcode::kRoundNearestAfz, [](float x) { return std::round(x); });
  check(Opcode::kRoundNearestEven, [](float x) { return std::nearbyint(x); });
}

TEST_CASE("compare: IEEE order and total order") {
  std::vector<F8E5M2> a, b;
  for (int i = 0; i < 256; ++i) {
    for (int j = 0; j < 256; ++j) {
      a.push_back(F8E5M2::from_bits(static_cast<uint8_t>(i)));
      b.push_back(F8E5M2::from_bits(static_cast<uint8_t>(j)));
    }
  }
  const auto rank = [](F8E5M2 x) { return x.bits & 0x80 ? ~(x.bits & 0x7f) : x.bits; };
  const auto check = [&](ComparisonDirection direction, auto holds) {
    const Attribute attributes[] = {
        make_attribute(attr::direction, direction),
        make_attribute(attr::comparison_type, ComparisonType::kTotalOrder)};
    const auto partial = apply<Pred>(
        lookup(Opcode::kCompare, {ElementType::F8E5M2, ElementType::F8E5M2}, PRED, {attributes[0]}),
        a, b);
    const auto total =
        apply<Pred>(lookup(Opcode::kCompare, {ElementType::F8E5M2, ElementType::F8E5M2}, PRED,
                           {attributes[0], attributes[1]}),
                    a, b);
    int wrong = 0;
    for (size_t i = 0; i < a.size(); ++i) {
      wrong += partial[i] != holds(static_cast<float>(a[i]), static_cast<float>(b[i]));
      wrong += total[i] != holds(rank(a[i]), rank(b[i]));
    }
    CHECK(wrong == 0);
  };
  using enum ComparisonDirection;
  check(kEq, [](auto x, auto y) { return x == y; });
  check(kNe, [](auto x, auto y) { return x != y; });
  check(kGe, [](auto x, auto y) { return x >= y; });
  check(kGt, [](auto x, auto y) { return x > y; });
  check(kLe, [](auto x, auto y) { return x <= y; });
  check(kLt, [](auto x, auto y) { return x < y; });
}

TEST_CASE("compare: the NaN of an fnuz type is below all in total order, and outside IEEE's") {
  std::vector<F8E4M3FNUZ> a, b;
  for (uint8_t bits : {0x80, 0xff, 0x00, 0x7f}) {
    a.push_back(F8E4M3FNUZ::from_bits(0x80));
    b.push_back(F8E4M3FNUZ::from_bits(bits));
  }
  const auto is_below = [&](ComparisonType type) {
    return apply<Pred>(
        lookup(Opcode::kCompare, {ElementType::F8E4M3FNUZ, ElementType::F8E4M3FNUZ}, PRED,
               {make_attribute(attr::direction, ComparisonDirection::kLt),
                make_attribute(attr::comparison_type, type)}),
        a, b);
  };
  const std::vector<Pred> total = is_below(ComparisonType::kTotalOrder);
  CHECK(!total[0]);
  for (size_t i = 1; i < b.size(); ++i) CHECK(total[i]);
  for (Pred below : is_below(ComparisonType::kFloat)) CHECK(!below);
}

TEST_CASE("complex atan2 is that of real numbers, and takes angles of complex ones") {
  using C = std::complex<double>;
  const std::vector<C> y = {C(1, 0), C(-2, 0), C(1, 2), C(0, 0)};
  const std::vector<C> x = {C(-1, 0), C(3, 0), C(1, 1), C(0, 0)};
  const auto angles = binary(Opcode::kAtan2, y, x);
  CHECK(std::abs(angles[0] - std::atan2(1.0, -1.0)) < 1e-12);
  CHECK(std::abs(angles[1] - std::atan2(-2.0, 3.0)) < 1e-12);
  CHECK(std::abs(std::tan(angles[2]) - y[2] / x[2]) < 1e-12);
  CHECK(std::isnan(angles[3].real()));
}

TEST_CASE("complex arithmetic") {
  using C = std::complex<float>;
  const std::vector<C> a = {C(1, 2)};
  const std::vector<C> b = {C(3, -4)};
  CHECK(binary(Opcode::kMultiply, a, b)[0] == C(11, 2));
  CHECK(binary(Opcode::kDivide, binary(Opcode::kMultiply, a, b), b)[0] == a[0]);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CHECK(binary(Opcode::kDivide, a, {C(0, 0)})[0] == C(kInfinity, kInfinity));
  CHECK(binary<C>(Opcode::kDivide, {C(kInfinity, 1)}, {C(2, 0)})[0].real() == kInfinity);
  CHECK(binary(Opcode::kDivide, a, {C(kInfinity, 1)})[0] == C(0, 0));
  CHECK(binary<std::complex<double>>(Opcode::kDivide, {std::complex<double>(1e300, 1e300)},
                                     {std::complex<double>(1e300, 1e300)})[0] ==
        std::complex<double>(1, 0));
  CHECK(apply<float>(lookup(Opcode::kAbs, {C64}, F32), b)[0] == 5);
  CHECK(unary<C>(Opcode::kSign, {C(0, 0)})[0] == C(0, 0));
  CHECK(std::abs(unary<C>(Opcode::kExpm1, {C(1e-20f, 1e-20f)})[0] - C(1e-20f, 1e-20f)) < 1e-26f);
  CHECK(std::abs(unary<C>(Opcode::kLog1p, {C(1e-20f, 1e-20f)})[0] - C(1e-20f, 1e-20f)) < 1e-26f);
}

// The same call on the whole, one by one, with the scalars spread out, and in place.
template <class T>
void check_ways_of_calling(Opcode opcode) {
  const ElementType type = element_type_of<T>;
  INFO(std::string(to_string(opcode)), " ", std::string(to_string(type)));
  const ElementwiseOp op = lookup(opcode, {type, type}, type);
  constexpr int64_t kCount = 3001;
  std::vector<T> a(kCount), b(kCount);
  std::mt19937 random(1);
  for (int64_t i = 0; i < kCount; ++i) {
    a[i] = T(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 16);
    b[i] = T(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 16);
  }
  const std::vector<uint64_t> whole = bit_patterns(apply<T>(op, a, b));
  for (int64_t i = 0; i < kCount; i += 7) {
    CHECK(bit_patterns(apply<T>(op, std::vector<T>{a[i]}, std::vector<T>{b[i]}))[0] == whole[i]);
  }
  const std::vector<T> spread(kCount, b[0]);
  CHECK(bit_patterns(apply<T>(op, a, std::vector<T>{b[0]})) ==
        bit_patterns(apply<T>(op, a, spread)));
  CHECK(bit_patterns(apply<T>(op, std::vector<T>{b[0]}, a)) ==
        bit_patterns(apply<T>(op, spread, a)));
  std::vector<T> in_place = b;
  const std::byte* const operands[] = {bytes(a), bytes(in_place)};
  const int64_t steps[] = {1, 1};
  op(kCount, operands, steps, reinterpret_cast<std::byte*>(in_place.data()));
  CHECK(bit_patterns(in_place) == whole);
}

TEST_CASE("a result does not depend on how the call was made") {
  for (Opcode opcode : {Opcode::kAdd, Opcode::kMaximum, Opcode::kDivide, Opcode::kPower}) {
    check_ways_of_calling<float>(opcode);
    check_ways_of_calling<double>(opcode);
    check_ways_of_calling<BF16>(opcode);
    check_ways_of_calling<F16>(opcode);
    check_ways_of_calling<F8E4M3FN>(opcode);
  }
}

TEST_CASE("what an opcode does not take is refused by name") {
  CHECK(refusal(Opcode::kSubtract, {PRED, PRED}, PRED) == "subtract does not take pred");
  CHECK(refusal(Opcode::kAbs, {U8}, U8) == "abs does not take u8");
  CHECK(refusal(Opcode::kAnd, {ElementType::BF16, ElementType::BF16}, ElementType::BF16) ==
        "and does not take bf16");
  CHECK(refusal(Opcode::kFloor, {C64}, C64) == "floor does not take c64");
  CHECK(refusal(Opcode::kAdd, {F32, S32}, F32) == "add takes operands of one type, not f32, s32");
  CHECK(refusal(Opcode::kAdd, {F32}, F32) == "add takes 2 operands, not 1");
  CHECK(refusal(Opcode::kAdd, {F32, F32}, F64) == "add of f32 gives f32, not f64");
  CHECK(refusal(Opcode::kAbs, {C64}, F32).empty());
  CHECK(refusal(Opcode::kReshape, {F32}, F32) == "reshape is not elementwise");
  CHECK(refusal(Opcode::kReducePrecision, {F32}, F32, fields(0, 3)) ==
        "reduce-precision needs exponent_bits of at least 1");
}

TEST_CASE("every elementwise opcode has kernels for some type") {
  for (int i = 0; i < kOpcodeCount; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    const OpcodeInfo& row = info(opcode);
    if (row.family != Family::kElementwise) continue;
    INFO(std::string(row.text));
    bool found = false;
    for (int from = 0; from < kElementTypeCount && !found; ++from) {
      for (int to = 0; to < kElementTypeCount && !found; ++to) {
        std::vector<ElementType> types(row.min_operands, static_cast<ElementType>(from));
        if (opcode == Opcode::kSelect) types[0] = PRED;
        if (opcode == Opcode::kStochasticConvert) types[1] = U32;
        found = refusal(opcode, types, static_cast<ElementType>(to), fields(5, 2)).empty();
      }
    }
    CHECK(found);
  }
}

}  // namespace
}  // namespace minihlo
