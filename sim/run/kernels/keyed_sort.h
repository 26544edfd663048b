// Stable sorting of rows by numbers that stand for keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/run/workers.h"

namespace minihlo {

/// Numbers of a row's elements, as SortKey::number gives them.
struct KeyNumbers {
  const std::byte* first;  // of the row
  bool is_wide;
  bool may_be_unordered;
};

/// Elements of one row that can be sorted.
inline constexpr int64_t kMaxKeyedSize = int64_t{1} << 32;

/// Bytes of memory that sorting of a row of `size` elements needs, aligned to 8.
int64_t keyed_sort_memory(std::span<const KeyNumbers> keys, int64_t size);

/// Writes to `order` the numbers of the elements of a row as they come when sorted by the first
/// key, then the second and so on; numbers lie `stride` apart. The order is what std::stable_sort
/// of GNU's library gives for a comparator that tells of equal elements that neither is before the
/// other, or, where it is not `is_strict`, that either is. Of several keys none may be unordered.
/// What is unfinished when time is out has no particular order.
void keyed_sort(std::span<const KeyNumbers> keys, bool is_strict, int64_t size, int64_t stride,
                uint32_t* order, std::byte* memory, LateCheck& is_late);

}  // namespace minihlo
