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

// How often the block of buffer `buffer` stands in a vector.
int64_t occurrences(const Array& array, const Buffer& buffer) {
  int64_t count = 0;
  for (const Buffer& kept : array.kept()) count += kept.identity() == buffer.identity();
  return count;
}

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
    int64_t in_vector = occurrences(*operands[i].array, tuple[i]);
    int64_t of_call = operands[i].array->is_uniform() ? 1 : positions;
    // One more handle is the tuple's own.
    writable[i] = in_vector == of_call && tuple[i].is_writable(in_vector + 1);
  }
  return writable;
}

}  // namespace minihlo
