#include "sim/run/distinct.h"

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

}  // namespace minihlo
