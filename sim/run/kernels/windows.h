// Windows that slide over an array, for reduce-window and select-and-scatter.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/attributes.h"
#include "sim/run/kernels/axes.h"

namespace minihlo {

/// Output position o and window position k meet operand index o * stride + k * dilation - padding,
/// if that is inside the operand and no hole of the base dilation.
class Windows {
 public:
  Windows(std::span<const WindowDimension> dims, std::span<const int64_t> operand_dims,
          std::span<const int64_t> output_dims)
      : dims_(dims.begin(), dims.end()),
        operand_dims_(operand_dims.begin(), operand_dims.end()),
        strides_(row_major_strides(operand_dims)) {
    // Absent dimensions are windows of one element.
    dims_.resize(operand_dims.size());
    for (size_t i = 0; i < dims_.size(); ++i) {
      positions_.push_back({dims_[i].size, 0});
      outputs_.push_back({output_dims[i], 0});
    }
  }

  int64_t position_count() const { return count_of(positions_); }
  size_t rank() const { return dims_.size(); }

  /// The index along each axis of number `linear`, among outputs or window positions.
  void output_index(int64_t linear, int64_t* index) const { split(outputs_, linear, index); }
  void position_index(int64_t linear, int64_t* index) const { split(positions_, linear, index); }

  /// The operand's element that an output and a window position meet, or -1.
  int64_t element(const int64_t* output, const int64_t* position) const {
    int64_t offset = 0;
    for (size_t i = 0; i < dims_.size(); ++i) {
      const WindowDimension& dim = dims_[i];
      int64_t at = output[i] * dim.stride + position[i] * dim.window_dilation - dim.padding_low;
      if (at < 0 || at % dim.base_dilation != 0) return -1;
      at /= dim.base_dilation;
      if (at >= operand_dims_[i]) return -1;
      offset += at * strides_[i];
    }
    return offset;
  }

 private:
  static void split(std::span<const StridedAxis> axes, int64_t linear, int64_t* index) {
    for (size_t i = axes.size(); i-- > 0;) {
      index[i] = linear % axes[i].size;
      linear /= axes[i].size;
    }
  }

  std::vector<WindowDimension> dims_;
  std::vector<int64_t> operand_dims_, strides_;
  std::vector<StridedAxis> positions_, outputs_;
};

}  // namespace minihlo
