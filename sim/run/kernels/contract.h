// The inner loop of dot and convolution: tiles of sums of products, each sum in the order of its
// terms, from the first product on, with fused multiply-add in f32 and f64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/element_type.h"

namespace minihlo {

/// How many sums are worked on together, and what does it. The size is what the machine has
/// registers for; results do not depend on it.
struct ContractTile {
  static constexpr int64_t kMaxRows = 8, kMaxColumns = 32;
  static constexpr int64_t kMaxBytes = kMaxRows * kMaxColumns * 16;  // of a tile of sums

  int64_t rows, columns;
  /// sums[r][c] of left[k][r] * right[k][c] for k from 0 to count - 1 and r below `used_rows`. In
  /// elements, left[k + 1] is `rows` behind left[k], right[k + 1] `right_stride` behind right[k],
  /// sums[r + 1] `columns` behind sums[r]. Where `goes_on` is set the sums so far are added to,
  /// else the first product starts them (zero if there is none).
  void (*run)(int64_t used_rows, int64_t count, const std::byte* left, const std::byte* right,
              int64_t right_stride, bool goes_on, std::byte* sums);
};

/// The type in which products of a result type are summed: f32 for floats up to that size, s32 and
/// s64 for integers, which wrap.
ElementType contraction_type(ElementType result);
/// The tile for one of these types.
ContractTile contract_tile(ElementType type);

}  // namespace minihlo
