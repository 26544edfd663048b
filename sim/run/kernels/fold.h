// Folding many lines of elements at a time with a reducer, each line in its order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/run/kernels/fold_kernel.h"
#include "sim/run/scalar_program.h"

namespace minihlo {

/// Sums and products of floats along more elements than this go in blocks of as many
/// (docs/numerics.md), as in XLA's CPU backend.
inline constexpr int64_t kBlockExtent = 32;

/// A reducer that takes and gives elements of one type.
class Fold {
 public:
  /// `program`: (result so far, element) -> result. It has to outlive this.
  explicit Fold(const ScalarProgram& program);

  /// For each of `lines` lines: result = f(... f(f(result, e[0]), e[1]) ..., e[count - 1]), rounded
  /// to the element type at every step; where `starts` is set, from e[0] on, of which there must be
  /// one: f(f(e[0], e[1]) ...). Results are contiguous. Element k of line i is elements[k * stride
  /// + i]: lines lie side by side.
  void columns(int64_t lines, int64_t count, int64_t stride, bool starts, const std::byte* elements,
               std::byte* results) const;
  /// The same, element k of line i being elements[i * stride + k]: lines lie along memory.
  void rows(int64_t lines, int64_t count, int64_t stride, bool starts, const std::byte* elements,
            std::byte* results) const;

 private:
  const ScalarProgram* program_;
  FoldKernels kernels_;  // where one is null the program does it
  int64_t width_;        // bytes of an element
};

}  // namespace minihlo
