// Folding along contiguous memory with one of the common reducers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "ir/element_type.h"
#include "ir/opcode.h"

namespace minihlo {

/// Sums and products of floats along more elements than this go in blocks of as many
/// (docs/numerics.md), as in XLA's CPU backend.
inline constexpr int64_t kBlockExtent = 32;

/// For each of `rows` rows: *result = f(... f(f(*result, row[0]), row[1]) ..., row[count - 1]),
/// rounded to the element type at every step; where `starts` is set, from row[0] on, of which there
/// must be one: f(f(row[0], row[1]) ...). Row r starts `row_stride` elements behind row r - 1;
/// results are contiguous.
using FoldKernel = void (*)(int64_t rows, int64_t count, int64_t row_stride, bool starts,
                            const std::byte* elements, std::byte* results);

/// The kernel for an opcode on a type, or null where there is none.
FoldKernel fold_kernel(Opcode opcode, ElementType type);

/// Running folds along more elements than this go in blocks of as many (docs/numerics.md), as in
/// XLA's CPU backend.
inline constexpr int64_t kRunningBlockExtent = 16;

/// Folds of the first i + 1 of `count` elements for each i, or backwards those of element i and all
/// behind it: init, then the elements in their order, rounded at every step, in blocks where there
/// are many. Elements, and results, lie `stride` elements apart.
using RunningFoldKernel = void (*)(int64_t count, int64_t stride, bool backwards,
                                   const std::byte* init, const std::byte* elements,
                                   std::byte* results);

/// The kernel for an opcode on a type, or null where there is none.
RunningFoldKernel running_fold_kernel(Opcode opcode, ElementType type);

}  // namespace minihlo
