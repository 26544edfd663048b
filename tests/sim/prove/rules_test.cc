// The rules on single elements, tried on random and special values of every type that they are for.
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "ir/semantics/elementwise.h"
#include "sim/prove/pointwise.h"
#include "sim/prove/samples.h"

namespace minihlo::prove {
namespace {

constexpr int kSamples = 300;

std::vector<Opcode> binary_opcodes() {
  std::vector<Opcode> result;
  for (int i = 0; i < kOpcodeCount; ++i) {
    auto opcode = static_cast<Opcode>(i);
    if (info(opcode).family == Family::kElementwise && info(opcode).min_operands == 2 &&
        opcode != Opcode::kCompare) {
      result.push_back(opcode);
    }
  }
  return result;
}

tl::expected<ElementwiseOp, std::string> op_of(Opcode opcode, ElementType type) {
  const ElementType operands[] = {type, type};
  return elementwise_op({opcode, operands, type, {}});
}

ElementBytes apply(const ElementwiseOp& op, const ElementBytes& a, const ElementBytes& b) {
  ElementBytes result{};
  const std::byte* operands[] = {a.data(), b.data()};
  const int64_t steps[] = {1, 1};
  op(1, operands, steps, result.data());
  return result;
}

// Bit for bit, any NaN being any NaN.
bool same(ElementType type, const ElementBytes& a, const ElementBytes& b) {
  auto tensor = [&](const ElementBytes& bytes) {
    std::shared_ptr<std::byte> data = allocate_host(info(type).bytes);
    std::memcpy(data.get(), bytes.data(), static_cast<size_t>(info(type).bytes));
    return HostTensor{type, {}, data, info(type).bytes};
  };
  return compare(tensor(a), tensor(b), {}).count == 0;
}

ElementBytes any(ElementType type, int number, std::mt19937_64& random) {
  const SampleKind kinds[] = {SampleKind::kSmall, SampleKind::kNear, SampleKind::kBits,
                              SampleKind::kSpecial};
  return sample(type, kinds[number % 4], random);
}

TEST_CASE("rule commute: holds for every opcode and type that it is used for") {
  std::mt19937_64 random(1);
  int tried = 0;
  for (Opcode opcode : binary_opcodes()) {
    if (!is_commutative(opcode)) continue;
    for (int t = 0; t < kElementTypeCount; ++t) {
      auto type = static_cast<ElementType>(t);
      auto op = op_of(opcode, type);
      if (!op || is_complex(type)) continue;
      CAPTURE(std::string(to_string(opcode)));
      CAPTURE(std::string(to_string(type)));
      ++tried;
      for (int i = 0; i < kSamples; ++i) {
        ElementBytes a = any(type, i, random), b = any(type, i / 4, random);
        REQUIRE(same(type, apply(*op, a, b), apply(*op, b, a)));
      }
    }
  }
  CHECK(tried > 100);
}

TEST_CASE("rule neutral-element: what it names as equal is equal, bit for bit") {
  std::mt19937_64 random(2);
  int claimed = 0;
  for (Opcode opcode : binary_opcodes()) {
    for (int t = 0; t < kElementTypeCount; ++t) {
      auto type = static_cast<ElementType>(t);
      auto op = op_of(opcode, type);
      if (!op) continue;
      for (int constant = 0; constant < 40; ++constant) {
        ElementBytes known = any(type, constant, random);
        if (constant < 2) known = ElementBytes{};
        if (constant == 1) known[0] = std::byte{1};
        if (constant == 2 && is_integer(type) && info(type).bits >= 8) known.fill(std::byte{0xFF});
        for (size_t side = 0; side < 2; ++side) {
          std::optional<std::span<const std::byte>> given[2];
          given[side] = std::span(known).first(static_cast<size_t>(info(type).bytes));
          RuleNames rules;
          PointFunction function{0, type, opcode};
          int equal = neutral_argument(function, type, given, rules);
          if (equal < 0) continue;
          CAPTURE(std::string(to_string(opcode)));
          CAPTURE(std::string(to_string(type)));
          ++claimed;
          for (int i = 0; i < kSamples; ++i) {
            ElementBytes arguments[2];
            arguments[side] = known;
            arguments[1 - side] = any(type, i, random);
            ElementBytes value = apply(*op, arguments[0], arguments[1]);
            REQUIRE(std::memcmp(value.data(), arguments[equal].data(),
                                static_cast<size_t>(info(type).bytes)) == 0);
          }
        }
      }
    }
  }
  CHECK(claimed > 100);
}

TEST_CASE("rule commute of reductions: sums of integers and minima of all types associate") {
  std::mt19937_64 random(3);
  int tried = 0;
  for (Opcode opcode : {Opcode::kAdd, Opcode::kMultiply, Opcode::kAnd, Opcode::kOr, Opcode::kXor,
                        Opcode::kMinimum, Opcode::kMaximum}) {
    bool total = opcode == Opcode::kMinimum || opcode == Opcode::kMaximum;
    for (int t = 0; t < kElementTypeCount; ++t) {
      auto type = static_cast<ElementType>(t);
      auto op = op_of(opcode, type);
      if (!op || is_complex(type) || (is_float(type) && !total)) continue;
      CAPTURE(std::string(to_string(opcode)));
      CAPTURE(std::string(to_string(type)));
      ++tried;
      for (int i = 0; i < kSamples; ++i) {
        ElementBytes a = any(type, i, random), b = any(type, i / 4, random),
                     c = any(type, i / 16, random);
        REQUIRE(same(type, apply(*op, apply(*op, a, b), c), apply(*op, a, apply(*op, b, c))));
      }
    }
  }
  CHECK(tried > 70);
}

}  // namespace
}  // namespace minihlo::prove
