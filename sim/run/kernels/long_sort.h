// Stable sorting of a long row by numbers that stand for keys, in parts that threads share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/run/kernel.h"
#include "sim/run/kernels/keyed_sort.h"

namespace minihlo {

/// Rows of at least this many elements are sorted in parts.
inline constexpr int64_t kLongRow = int64_t{1} << 18;

/// Adds stages of work that do what keyed_sort() does, with the same result and as much memory.
void add_long_sort(KernelCall& call, std::vector<KeyNumbers> keys, bool is_strict, int64_t size,
                   int64_t stride, uint32_t* order, std::byte* memory);

}  // namespace minihlo
