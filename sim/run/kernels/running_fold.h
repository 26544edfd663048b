// Running folds along one axis of an array with one of the common reducers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/element_type.h"
#include "ir/opcode.h"

namespace minihlo {

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
