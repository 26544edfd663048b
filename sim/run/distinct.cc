#include "sim/run/distinct.h"

#include <utility>

namespace minihlo {

size_t DistinctTuples::insert(std::vector<Buffer> tuple) {
  size_t hash = tuple.size();
  for (const Buffer& buffer : tuple) {
    hash = (hash ^ reinterpret_cast<size_t>(buffer.identity())) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  auto [begin, end] = by_hash_.equal_range(hash);
  for (auto at = begin; at != end; ++at) {
    if (tuples_[at->second] == tuple) return at->second;
  }
  by_hash_.emplace(hash, tuples_.size());
  tuples_.push_back(std::move(tuple));
  return tuples_.size() - 1;
}

namespace {

using Array = DeviceVector<Buffer>;

}  // namespace

DistinctCalls distinct_calls(std::span<const Operand<Array>> operands, size_t device_count) {
  DistinctCalls calls;
  bool uniform = true;
  for (const Operand<Array>& operand : operands) {
    uniform = uniform && (!operand.array->is_set() || operand.array->is_uniform());
  }
  const size_t positions = uniform ? 1 : device_count;
  for (size_t i = 0; i < positions; ++i) {
    std::vector<Buffer> tuple;
    tuple.reserve(operands.size());
    for (const Operand<Array>& operand : operands) {
      tuple.push_back(operand.array->is_set() ? (*operand.array)[i] : Buffer());
    }
    size_t number = calls.tuples.insert(std::move(tuple));
    if (number == calls.positions.size()) calls.positions.push_back(0);
    ++calls.positions[number];
    calls.of_position.push_back(number);
  }
  return calls;
}

std::vector<bool> writable_operands(std::span<const Operand<Array>> operands,
                                    const std::vector<Buffer>& tuple, int64_t positions) {
  std::vector<bool> writable(operands.size(), false);
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!operands[i].last || !tuple[i].is_set()) continue;
    // The vector's handles at the call's positions, and the tuple's own: there must be no more.
    const int64_t of_call = operands[i].array->is_uniform() ? 1 : positions;
    writable[i] = tuple[i].is_writable(of_call + 1);
  }
  return writable;
}

}  // namespace minihlo
