// Folds of rows: each in its order, whatever stands beside it.
#include <cstring>
#include <random>

#include <doctest/doctest.h>

#include "ir/numbers.h"
#include "sim/run/kernels/fold.h"

namespace minihlo {
namespace {

template <class T>
void check_sums(uint32_t seed) {
  using Wide = std::conditional_t<IsMiniFloat<T>::value, float, T>;
  const FoldKernel fold = fold_kernel(Opcode::kAdd, element_type_of<T>);
  const bool is_there = fold != nullptr;
  REQUIRE(is_there);
  std::mt19937 random(seed);
  for (int64_t rows : {1, 3, 16, 17, 45}) {
    for (int64_t count : {1, 2, 31, 32, 33, 100}) {
      for (bool starts : {false, true}) {
        const int64_t stride = count + 5;
        std::vector<T> elements, results, expected;
        auto number = [&] {
          const auto value = static_cast<int32_t>(random() % 20001) - 10000;
          return T(static_cast<Wide>(value) / static_cast<Wide>(3));
        };
        for (int64_t i = 0; i < rows * stride; ++i) elements.push_back(number());
        for (int64_t r = 0; r < rows; ++r) {
          results.push_back(number());
          const T* row = elements.data() + r * stride;
          auto sum = static_cast<Wide>(starts ? row[0] : results.back());
          for (int64_t k = starts; k < count; ++k) {
            sum = static_cast<Wide>(T(static_cast<Wide>(sum + static_cast<Wide>(row[k]))));
          }
          expected.push_back(T(sum));
        }
        fold(rows, count, stride, starts, reinterpret_cast<const std::byte*>(elements.data()),
             reinterpret_cast<std::byte*>(results.data()));
        CAPTURE(rows);
        CAPTURE(count);
        CHECK(std::memcmp(results.data(), expected.data(), results.size() * sizeof(T)) == 0);
      }
    }
  }
}

TEST_CASE("fold: each row in the order of its elements") {
  check_sums<float>(1);
  check_sums<double>(2);
  check_sums<BF16>(3);
  check_sums<F16>(4);
  check_sums<int32_t>(5);
}

}  // namespace
}  // namespace minihlo
