// The start indices of gather and scatter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"

namespace minihlo {

/// A vector of operand start indices for each batch index: the index in all dimensions of the
/// indices array but `vector_dim`, row-major.
class IndexVectors {
 public:
  IndexVectors(Buffer indices, const Shape* shape, int64_t vector_dim,
               std::span<const int64_t> operand_dims, std::span<const int64_t> operand_batching,
               std::span<const int64_t> indices_batching)
      : indices_(std::move(indices)),
        type_(shape->element_type()),
        operand_dims_(operand_dims.begin(), operand_dims.end()),
        operand_batching_(operand_batching.begin(), operand_batching.end()) {
    std::vector<int64_t> strides = row_major_strides(shape->dims());
    for (int64_t i = 0; i < shape->rank(); ++i) {
      if (i == vector_dim) continue;
      if (auto at = std::ranges::find(indices_batching, i); at != indices_batching.end()) {
        batching_axis_.push_back({at - indices_batching.begin(), batch_.size()});
      }
      batch_.push_back({shape->dim(i), strides[static_cast<size_t>(i)]});
    }
    vector_stride_ = vector_dim < shape->rank() ? strides[static_cast<size_t>(vector_dim)] : 0;
  }

  int64_t count() const { return count_of(batch_); }

  /// Sets `start`, which has an entry for each operand dimension, to the vector of batch `number`.
  void read(int64_t number, std::vector<int64_t>& start) const {
    std::fill(start.begin(), start.end(), 0);
    int64_t offset = OffsetWalk(batch_, number).offset();
    for (size_t k = 0; k < operand_dims_.size(); ++k) {
      start[static_cast<size_t>(operand_dims_[k])] =
          integer_at(indices_, type_, offset + static_cast<int64_t>(k) * vector_stride_);
    }
    for (const auto& [pair, axis] : batching_axis_) {
      int64_t inner = 1;
      for (size_t i = axis + 1; i < batch_.size(); ++i) inner *= batch_[i].size;
      start[static_cast<size_t>(operand_batching_[static_cast<size_t>(pair)])] =
          number / inner % batch_[axis].size;
    }
  }

 private:
  Buffer indices_;
  ElementType type_;
  std::vector<int64_t> operand_dims_, operand_batching_;
  std::vector<StridedAxis> batch_;
  std::vector<std::pair<int64_t, size_t>> batching_axis_;  // pair of dims, axis of batch_
  int64_t vector_stride_ = 0;
};

}  // namespace minihlo
