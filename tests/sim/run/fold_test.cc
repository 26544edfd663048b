// Folds of many lines: each in its order, whatever stands beside it, along memory and across it.
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include <doctest/doctest.h>

#include "ir/element_type.h"
#include "ir/numbers.h"
#include "ir/text/parser.h"
#include "sim/run/kernels/fold.h"

namespace minihlo {
namespace {

// `function`: what `opcode` does in the type that elements are computed in.
template <class T, class Function>
void check_folds(std::string_view opcode, const Function& function, uint32_t seed) {
  using Wide = std::conditional_t<IsMiniFloat<T>::value, float, T>;
  const ElementType type = element_type_of<T>;
  const std::string name(to_string(type));
  auto source = Source::from_string("sum.hlo", "HloModule m\n\nENTRY sum {\n  a = " + name +
                                                   "[] parameter(0)\n  b = " + name +
                                                   "[] parameter(1)\n  ROOT c = " + name + "[] " +
                                                   std::string(opcode) + "(a, b)\n}\n");
  Diagnostics diagnostics(source);
  const std::unique_ptr<Module> module = parse_text(source, diagnostics);
  REQUIRE(module);
  const auto program = ScalarProgram::compile(*module->entry());
  REQUIRE(program.has_value());
  const Fold fold(*program);
  std::mt19937 random(seed);
  for (int64_t lines : {1, 3, 16, 17, 45, 130}) {
    for (int64_t count : {1, 2, 7, 8, 9, 31, 32, 33, 100, 300}) {
      for (bool starts : {false, true}) {
        const int64_t row_stride = count + 5, column_stride = lines + 3;
        std::vector<T> rows(static_cast<size_t>(lines * row_stride));
        std::vector<T> columns(static_cast<size_t>(count * column_stride));
        std::vector<T> before, expected;
        auto number = [&] {
          const auto value = static_cast<int32_t>(random() % 20001) - 10000;
          if constexpr (std::numeric_limits<Wide>::has_quiet_NaN) {
            if (opcode != "add" && random() % 400 == 0) {
              return T(std::numeric_limits<Wide>::quiet_NaN());
            }
            if (opcode != "add" && random() % 8 == 0)
              return T(random() % 2 == 0 ? Wide{0} : -Wide{0});
          }
          return T(static_cast<Wide>(static_cast<Wide>(value) / static_cast<Wide>(3)));
        };
        for (int64_t i = 0; i < lines; ++i) {
          before.push_back(number());
          Wide sum = static_cast<Wide>(before.back());
          for (int64_t k = 0; k < count; ++k) {
            const T element = number();
            rows[static_cast<size_t>(i * row_stride + k)] = element;
            columns[static_cast<size_t>(k * column_stride + i)] = element;
            const bool is_first = starts && k == 0;
            const T next = is_first
                               ? element
                               : T(static_cast<Wide>(function(sum, static_cast<Wide>(element))));
            sum = static_cast<Wide>(next);
          }
          expected.push_back(static_cast<T>(sum));
        }
        CAPTURE(name);
        CAPTURE(lines);
        CAPTURE(count);
        std::vector<T> results = before;
        auto bytes = [](std::vector<T>& values) {
          return reinterpret_cast<std::byte*>(values.data());
        };
        fold.rows(lines, count, row_stride, starts, bytes(rows), bytes(results));
        CHECK(std::memcmp(results.data(), expected.data(), results.size() * sizeof(T)) == 0);
        results = before;
        fold.columns(lines, count, column_stride, starts, bytes(columns), bytes(results));
        CHECK(std::memcmp(results.data(), expected.data(), results.size() * sizeof(T)) == 0);
      }
    }
  }
}

TEST_CASE("fold: each line in the order of its elements") {
  auto check_sums = []<class T>(std::type_identity<T>, uint32_t seed) {
    check_folds<T>(
        "add", [](auto a, auto b) { return a + b; }, seed);
  };
  check_sums(std::type_identity<float>{}, 1);
  check_sums(std::type_identity<double>{}, 2);
  check_sums(std::type_identity<BF16>{}, 3);
  check_sums(std::type_identity<F16>{}, 4);
  check_sums(std::type_identity<int32_t>{}, 5);
  check_sums(std::type_identity<F8E5M2>{}, 6);
  check_sums(std::type_identity<int8_t>{}, 7);
  check_sums(std::type_identity<uint64_t>{}, 8);
}

TEST_CASE("fold: the largest and the least, of zeros and NaNs as well") {
  auto check_largest = []<class T>(std::type_identity<T>, uint32_t seed) {
    check_folds<T>(
        "maximum",
        [](auto a, auto b) {
          if (a != a || b != b) return std::numeric_limits<decltype(a)>::quiet_NaN();
          return a > b || (a == b && !std::signbit(static_cast<double>(a))) ? a : b;
        },
        seed);
    check_folds<T>(
        "minimum",
        [](auto a, auto b) {
          if (a != a || b != b) return std::numeric_limits<decltype(a)>::quiet_NaN();
          return a < b || (a == b && std::signbit(static_cast<double>(a))) ? a : b;
        },
        seed);
  };
  check_largest(std::type_identity<float>{}, 11);
  check_largest(std::type_identity<double>{}, 12);
  check_largest(std::type_identity<BF16>{}, 13);
  check_largest(std::type_identity<F16>{}, 14);
  check_largest(std::type_identity<int64_t>{}, 15);
  check_largest(std::type_identity<uint8_t>{}, 16);
}

}  // namespace
}  // namespace minihlo
