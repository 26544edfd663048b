// Products of matrices whose elements lie anywhere: what dot and its relatives are made of.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"

namespace minihlo {

/// Where the elements of some matrices lie, in elements from `offset` on.
struct MatrixView {
  std::vector<StridedAxis> groups, rows, columns;
  int64_t offset = 0;
};

/// result[g][i][j] = sum over k of left[g][i][k] * right[g][k][j], from the first product on (zero
/// if there is none), in `sum_type`, one of contraction_type(); then rounded once to the element
/// type of the result. NaNs are the canonical one.
struct MatrixProduct {
  struct Operand {
    Buffer elements;
    ElementType type;
    MatrixView view;
  };
  Operand left, right, result;
  ElementType sum_type;
};

/// Adds the work of a product. Blocks of operands are copied on the way, converted where their type
/// is not `sum_type`, into memory of the threads: at most 2 MiB each.
KernelResult add_matrix_product(KernelCall& call, MatrixProduct product);

}  // namespace minihlo
