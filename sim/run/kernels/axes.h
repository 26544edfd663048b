// Walking over the axes of arrays, for kernels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/row_major.h"

namespace minihlo {

struct StridedAxis {
  int64_t size;
  int64_t stride;
};

/// Drops axes of size 1 and merges neighbours that continue each other. Outermost first.
inline std::vector<StridedAxis> merge_axes(std::span<const StridedAxis> axes) {
  std::vector<StridedAxis> merged;
  for (const StridedAxis& axis : axes) {
    if (axis.size == 1) continue;
    if (!merged.empty() && merged.back().stride == axis.stride * axis.size) {
      merged.back().size *= axis.size;
      merged.back().stride = axis.stride;
    } else {
      merged.push_back(axis);
    }
  }
  return merged;
}

inline int64_t count_of(std::span<const StridedAxis> axes) {
  int64_t count = 1;
  for (const StridedAxis& axis : axes) count *= axis.size;
  return count;
}

/// The offset of the index with number `linear`, in row-major order.
inline int64_t offset_of(std::span<const StridedAxis> axes, int64_t linear) {
  int64_t offset = 0;
  for (size_t i = axes.size(); i-- > 0 && linear > 0; linear /= axes[i].size) {
    offset += linear % axes[i].size * axes[i].stride;
  }
  return offset;
}

/// The offsets of successive indices, in row-major order.
class OffsetWalk {
 public:
  /// Starts at the index with number `start`.
  explicit OffsetWalk(std::span<const StridedAxis> axes, int64_t start = 0)
      : axes_(axes), index_(axes.size(), 0) {
    for (size_t i = axes.size(); i-- > 0 && start > 0;) {
      index_[i] = start % axes[i].size;
      start /= axes[i].size;
      offset_ += index_[i] * axes[i].stride;
    }
  }
  int64_t offset() const { return offset_; }
  void next() {
    for (size_t i = axes_.size(); i-- > 0;) {
      offset_ += axes_[i].stride;
      if (++index_[i] < axes_[i].size) return;
      offset_ -= axes_[i].stride * axes_[i].size;
      index_[i] = 0;
    }
  }

 private:
  std::span<const StridedAxis> axes_;
  std::vector<int64_t> index_;
  int64_t offset_ = 0;
};

/// The offsets of `count` indices from number `first` on, in row-major order.
inline std::vector<int64_t> offsets_of(std::span<const StridedAxis> axes, int64_t first,
                                       int64_t count) {
  std::vector<int64_t> offsets(static_cast<size_t>(count));
  OffsetWalk walk(axes, first);
  for (int64_t& offset : offsets) {
    offset = walk.offset();
    walk.next();
  }
  return offsets;
}

/// Whether offsets are those of elements that lie side by side.
inline bool is_run(std::span<const int64_t> offsets) {
  for (size_t i = 1; i < offsets.size(); ++i) {
    if (offsets[i] != offsets[0] + static_cast<int64_t>(i)) return false;
  }
  return true;
}

}  // namespace minihlo
