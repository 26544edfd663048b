// Which positions of a set of device vectors hold the same values, so that what comes from them is
// computed once.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/device_vector.h"
#include "sim/run/buffer.h"
#include "sim/value.h"

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

/// The operands of an instruction on all devices, each different set once.
struct DistinctCalls {
  DistinctTuples tuples;
  std::vector<size_t> of_position;  // one entry if all operands are uniform
  std::vector<int64_t> positions;   // how many each tuple has
};
DistinctCalls distinct_calls(std::span<const Operand<DeviceVector<Buffer>>> operands,
                             size_t device_count);

/// Of each operand of a call whether its block may be taken over: nobody reads it afterwards, and
/// nobody but this call holds it, neither another value nor a device whose other operands differ.
std::vector<bool> writable_operands(std::span<const Operand<DeviceVector<Buffer>>> operands,
                                    const std::vector<Buffer>& tuple, int64_t positions);

}  // namespace minihlo
