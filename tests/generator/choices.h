// Where a generator's decisions come from: a seed, or bytes that a fuzzer mutates. The same source
// makes the same decisions on every platform.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <string_view>
#include <vector>

namespace minihlo::generator {

class Choices {
 public:
  explicit Choices(uint64_t seed) : engine_(seed) {}
  /// Decides by these bytes. When they are used up, each decision is the first, simplest one.
  explicit Choices(std::string_view bytes) : from_bytes_(true), bytes_(bytes) {}

  /// 64 bits, all free.
  uint64_t bits();
  /// 0 to count - 1; 0 where count is not positive. The simplest case should be 0.
  int64_t below(int64_t count);
  /// from to to, both included.
  int64_t between(int64_t from, int64_t to) { return from + below(to - from + 1); }
  /// True in so many of 100 cases; false is the simple case.
  bool chance(int percent) { return below(100) >= 100 - percent; }

  template <class Range>
  decltype(auto) pick(const Range& range) {
    return range[static_cast<size_t>(below(static_cast<int64_t>(std::size(range))))];
  }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int64_t>(list.size()))];
  }
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    }
  }
  /// 0 to count - 1 in random order.
  std::vector<int64_t> permutation(int64_t count);
  /// `chosen` of the numbers 0 to count - 1, ascending.
  std::vector<int64_t> subset(int64_t count, int64_t chosen);

 private:
  uint8_t byte();

  bool from_bytes_ = false;
  std::mt19937_64 engine_;  // its numbers, unlike those of distributions, are fixed by the standard
  std::string_view bytes_;
};

}  // namespace minihlo::generator
