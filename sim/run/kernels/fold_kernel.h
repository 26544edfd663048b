// Folding lines of elements with one of the common reducers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/element_type.h"
#include "ir/opcode.h"

namespace minihlo {

/// Folds of lines of elements, see Fold (sim/run/kernels/fold.h).
struct FoldKernels {
  /// Fold::columns(); null where the type has none: there are some for those of large arrays.
  void (*columns)(int64_t lines, int64_t count, int64_t stride, bool starts,
                  const std::byte* elements, std::byte* results) = nullptr;
  /// Fold::rows() of the first lines, as many as there are whole vectors of; gives their number.
  int64_t (*rows)(int64_t lines, int64_t count, int64_t stride, bool starts,
                  const std::byte* elements, std::byte* results) = nullptr;
};

FoldKernels fold_kernels(Opcode opcode, ElementType type);

}  // namespace minihlo
