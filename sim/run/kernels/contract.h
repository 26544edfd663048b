// The inner loop of dot and convolution: tiles of sums of products, each sum in the order of its
// terms, from the first product on, with fused multiply-add in f32 and f64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/element_type.h"

namespace minihlo {

/// Rows and columns of a tile.
inline constexpr int64_t kTileRows = 4;
inline constexpr int64_t kTileColumns = 16;

/// sums[r][c], kept in memory of kTileRows x kTileColumns elements, of left[k][r] * right[k][c] for
/// k from 0 to count - 1. Where `goes_on` is set the sums so far are added to, else the first
/// product starts them (zero if there is none).
using ContractTile = void (*)(int64_t count, const std::byte* left, const std::byte* right,
                              bool goes_on, std::byte* sums);

/// The type in which products of a result type are summed: f32 for floats up to that size, s32 and
/// s64 for integers, which wrap.
ElementType contraction_type(ElementType result);
/// The tile kernel for one of these types.
ContractTile contract_tile(ElementType type);

}  // namespace minihlo
