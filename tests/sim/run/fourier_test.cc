// Transforms of all kinds of lengths, beside the sums that define them.
#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "sim/run/kernels/fourier.h"

namespace minihlo {
namespace {

using Number = std::complex<double>;
using Long = std::complex<long double>;

std::vector<Number> transformed(std::vector<Number> values, bool inverse) {
  const auto size = static_cast<int64_t>(values.size());
  Workers workers(1);
  LateCheck is_late(workers);
  std::vector<Number> memory(static_cast<size_t>(FourierTransform::memory(size)));
  FourierTransform transform(size, inverse, memory.data(), is_late);
  CHECK(transform.run(values.data(), 1));
  return values;
}

std::vector<Number> random_numbers(int64_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<Number> values;
  for (int64_t i = 0; i < size; ++i) values.emplace_back(normal(random), normal(random));
  return values;
}

// Element k of the transform, summed up in extended precision.
Long sum_at(const std::vector<Number>& values, int64_t k, bool inverse) {
  const auto size = static_cast<int64_t>(values.size());
  Long sum = 0;
  for (int64_t i = 0; i < size; ++i) {
    const long double angle = (inverse ? 2 : -2) * std::numbers::pi_v<long double> *
                              static_cast<long double>(i * k % size) /
                              static_cast<long double>(size);
    sum += Long(values[static_cast<size_t>(i)]) * Long(std::cos(angle), std::sin(angle));
  }
  return sum;
}

TEST_CASE("fft: lengths with small and large factors agree with the sums") {
  // Primes up to and past the bound of direct sums, their products and powers of two among them.
  for (int64_t size :
       {1,    2,    3,       4,           8,     12,    61,     64, 67, 96,  128,  134,   1009,
        2048, 3721, 67 * 67, 4 * 67 * 71, 10007, 65537, 100003, 16, 32, 256, 8192, 65536, 524288}) {
    CAPTURE(size);
    const std::vector<Number> values = random_numbers(size, 1);
    for (bool inverse : {false, true}) {
      const std::vector<Number> result = transformed(values, inverse);
      double largest = 0;
      for (const Number& element : result) largest = std::max(largest, std::abs(element));
      long double worst = 0;
      const int64_t step = size / std::min<int64_t>(50, 200'000 / size + 2) + 1;
      for (int64_t k = 0; k < size; k += step) {
        const Long exact = sum_at(values, k, inverse);
        worst = std::max(worst, std::abs(Long(result[static_cast<size_t>(k)]) - exact));
      }
      CHECK(worst <= 8 * 0x1p-52L * largest);
    }
  }
}

TEST_CASE("fft: there and back again") {
  for (int64_t size : {5040, 65536, 99991}) {
    const std::vector<Number> values = random_numbers(size, 2);
    const std::vector<Number> result = transformed(transformed(values, false), true);
    double worst = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      worst = std::max(worst, std::abs(result[i] / static_cast<double>(size) - values[i]));
    }
    CHECK(worst <= 64 * 0x1p-52);
  }
}

}  // namespace
}  // namespace minihlo
