// What dot and convolution share around the inner loop.
#pragma once

#include <optional>

#include "ir/semantics/elementwise.h"
#include "sim/run/kernel.h"

namespace minihlo {

/// The conversion of elements between types, for a kernel.
tl::expected<ElementwiseOp, Stop> conversion(const KernelCall& call, ElementType from,
                                             ElementType to);

/// Operand i in the type in which products are summed, every element in place. Filled at once.
tl::expected<Buffer, Stop> converted_operand(KernelCall& call, size_t i, ElementType type);

/// Makes the result, in the instruction's element type, of sums in `type` that the work added so
/// far computes.
KernelResult convert_result(KernelCall& call, const Buffer& sums, ElementType type);

/// The distance between neighbours where it is the same for all offsets; 1 where there are none.
std::optional<int64_t> even_stride(std::span<const int64_t> offsets);

/// packed[k][i] = elements[outer[i] + depth[k]], rows of `row_size` elements, of which those beyond
/// `outer` are zero. Elements have `bytes` bytes, and offsets count elements.
void pack_elements(int64_t bytes, const std::byte* elements, std::span<const int64_t> outer,
                   std::span<const int64_t> depth, int64_t row_size, std::byte* packed);

/// Makes NaNs among `count` sums the canonical one.
void canonicalize(ElementType type, int64_t count, std::byte* sums);

}  // namespace minihlo
