// Copies of arrays that no cache holds.
#pragma once

#include "ir/semantics/movement.h"

namespace minihlo {

/// As copy_strided(), for a part of a result that is larger than the cache: it is written past the
/// cache where that gains.
void copy_strided_past_cache(const StridedCopy& copy, const std::byte* operand, std::byte* result,
                             int64_t width);

}  // namespace minihlo
