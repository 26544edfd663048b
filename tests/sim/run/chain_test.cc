// Chains of arithmetic: the same bits as the instructions one by one, for NaNs and zeros as well.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "ir/element_type.h"
#include "ir/numbers.h"
#include "ir/semantics/elementwise.h"
#include "sim/run/kernels/chain.h"

namespace minihlo {
namespace {

constexpr Opcode kOpcodes[] = {Opcode::kAdd,    Opcode::kSubtract, Opcode::kMultiply,
                               Opcode::kDivide, Opcode::kMaximum,  Opcode::kMinimum};

template <class T>
void check_chains(uint32_t seed) {
  constexpr ElementType kType = element_type_of<T>;
  using Limits = std::numeric_limits<T>;
  std::mt19937 random(seed);
  const T special[] = {0,
                       -T(0),
                       1,
                       -1,
                       Limits::infinity(),
                       -Limits::infinity(),
                       Limits::max(),
                       Limits::denorm_min(),
                       Limits::quiet_NaN(),
                       -Limits::quiet_NaN(),
                       Limits::signaling_NaN(),
                       std::nextafter(T(1), T(2))};
  auto numbers = [&](size_t count) {
    std::vector<T> values;
    for (size_t i = 0; i < count; ++i) {
      values.push_back(random() % 3 == 0 ? static_cast<T>(random() % 1000) / T(7) - T(70)
                                         : special[random() % std::size(special)]);
    }
    return values;
  };
  auto bytes = [](std::vector<T>& values) { return reinterpret_cast<std::byte*>(values.data()); };
  for (size_t count : {1, 3, 8, 64, 130, 515}) {
    for (int round = 0; round < 40; ++round) {
      std::vector<std::vector<T>> operands;
      for (int i = 0; i < 3; ++i) operands.push_back(numbers(count));
      std::vector<ChainStep> steps;
      std::vector<T> expected = operands[0], result(count);
      for (size_t length = 1 + random() % 6; steps.size() < length;) {
        const Opcode opcode = kOpcodes[random() % std::size(kOpcodes)];
        REQUIRE(has_chain_step(opcode, kType));
        const size_t other = random() % (operands.size() + 1);
        ChainStep step{opcode, random() % 2 == 0, nullptr};
        if (other < operands.size()) step.other = bytes(operands[other]);
        const ElementType types[] = {kType, kType};
        const auto op = elementwise_op(ElementwiseSignature{opcode, types, kType, {}});
        REQUIRE(op.has_value());
        const std::byte* sides[] = {bytes(expected), step.other ? step.other : bytes(expected)};
        if (step.other_first) std::swap(sides[0], sides[1]);
        const int64_t ones[] = {1, 1};
        std::vector<T> next(count);
        (*op)(static_cast<int64_t>(count), sides, ones, bytes(next));
        expected = next;
        steps.push_back(step);
      }
      run_chain(kType, bytes(operands[0]), steps, static_cast<int64_t>(count), bytes(result));
      CHECK(std::memcmp(result.data(), expected.data(), count * sizeof(T)) == 0);
      // In the memory of an operand.
      run_chain(kType, bytes(operands[0]), steps, static_cast<int64_t>(count), bytes(operands[1]));
      CHECK(std::memcmp(operands[1].data(), expected.data(), count * sizeof(T)) == 0);
    }
  }
}

TEST_CASE("chains of arithmetic: the same bits as step by step") {
  check_chains<float>(1);
  check_chains<double>(2);
  CHECK_FALSE(has_chain_step(Opcode::kNegate, ElementType::F32));
  CHECK_FALSE(has_chain_step(Opcode::kAdd, ElementType::BF16));
}

}  // namespace
}  // namespace minihlo
