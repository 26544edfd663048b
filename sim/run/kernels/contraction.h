// What dot and convolution share around the inner loop.
#pragma once

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"

namespace minihlo {

/// Operand i in the type in which products are summed, every element in place. Filled at once.
tl::expected<Buffer, Stop> converted_operand(KernelCall& call, size_t i, ElementType type);

/// Puts the sums of a tile in place as elements of a row-major matrix with `columns` columns, NaNs
/// as the canonical one.
void store_tile(ElementType type, const std::byte* sums, int64_t rows, int64_t columns_used,
                std::byte* result, int64_t columns);

/// Makes the result, in the instruction's element type, of sums in `type` that the work added so
/// far computes.
KernelResult convert_result(KernelCall& call, const Buffer& sums, ElementType type);

/// Elements as a matrix of `groups` x `rows` x `depth`, given by where each lies.
struct MatrixView {
  std::vector<StridedAxis> groups, rows, depth;
};
/// Copies elements to panels [group][row block][depth][row in block] of `block` rows each; rows
/// that are missing in the last block are zero. `from` in elements of `width` bytes.
void pack_panels(const MatrixView& view, const std::byte* from, int64_t width, int64_t block,
                 int64_t begin, int64_t end, std::byte* panels);
/// How many panels there are.
int64_t panel_count(const MatrixView& view, int64_t block);

}  // namespace minihlo
