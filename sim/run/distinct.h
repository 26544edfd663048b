// Which positions of a set of device vectors hold the same values.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/device_vector.h"
#include "sim/run/buffer.h"

namespace minihlo {

/// Tuples of buffers, each different one kept once.
class DistinctTuples {
 public:
  /// The number of a tuple, which is new if it is as large as size() was before.
  size_t insert(std::vector<Buffer> tuple);
  size_t size() const { return tuples_.size(); }
  std::vector<Buffer>& operator[](size_t i) { return tuples_[i]; }

 private:
  std::vector<std::vector<Buffer>> tuples_;
  std::unordered_multimap<size_t, size_t> by_hash_;
};

}  // namespace minihlo
