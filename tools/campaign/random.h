// Random numbers that are the same on every machine and for every library.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace minihlo::campaign {

/// SplitMix64: any two of (seed, stream) give sequences of their own.
class Random {
 public:
  Random(uint64_t seed, uint64_t stream) : state_(mixed(seed + kStep) ^ mixed(stream * kStep)) {}

  uint64_t next() { return mixed(state_ += kStep); }
  /// From 0 to count - 1, all alike to within 2^-32 of what they should be. Requires 0 < count <
  /// 2^31.
  int64_t below(int64_t count) {
    return static_cast<int64_t>(((next() >> 32) * static_cast<uint64_t>(count)) >> 32);
  }
  /// From first to last.
  int64_t between(int64_t first, int64_t last) { return first + below(last - first + 1); }

  template <class T>
  void shuffle(std::span<T> values) {
    for (size_t left = values.size(); left > 1; --left) {
      std::swap(values[left - 1], values[static_cast<size_t>(below(static_cast<int64_t>(left)))]);
    }
  }
  /// 0 to count - 1 in some order.
  std::vector<int64_t> order(int64_t count) {
    std::vector<int64_t> ids(static_cast<size_t>(count));
    std::iota(ids.begin(), ids.end(), 0);
    shuffle(std::span(ids));
    return ids;
  }

  /// A number that looks like no other one's.
  static uint64_t mixed(uint64_t value) {
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
  }

 private:
  static constexpr uint64_t kStep = 0x9E3779B97F4A7C15u;

  uint64_t state_;
};

}  // namespace minihlo::campaign
