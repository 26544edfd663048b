// Frames: splitting axes, merging axes, and fitting a tensor to dimensions.
#include <algorithm>

#include "ir/row_major.h"
#include "sim/prove/tensor.h"

namespace minihlo::prove {
namespace {

// The boxes of digits of `sizes` that make up the range of one axis of that many elements, each as
// ranges (strides included) and the offset of its first element.
struct SplitPart {
  int64_t offset;
  std::vector<Range> ranges;
};

void split_range(const Range& range, std::span<const int64_t> sizes, int64_t offset,
                 std::vector<Range> prefix, std::vector<SplitPart>& parts) {
  if (sizes.empty()) {
    parts.push_back({offset, std::move(prefix)});
    return;
  }
  int64_t inner = element_count(sizes.subspan(1));
  int64_t end = range.start + range.size;
  auto rows = [&](int64_t first, int64_t count, int64_t at, Range within) {
    std::vector<Range> longer = prefix;
    longer.push_back({first, count, count == 1 ? 0 : range.stride * inner});
    split_range(within, sizes.subspan(1), offset + (at - range.start) * range.stride,
                std::move(longer), parts);
  };
  int64_t first_row = range.start / inner;
  int64_t first_full = (range.start + inner - 1) / inner;
  int64_t last_full = end / inner;
  if (first_row == (end - 1) / inner) {
    rows(first_row, 1, range.start, {range.start - first_row * inner, range.size, range.stride});
    return;
  }
  if (first_row < first_full) {
    int64_t at = range.start - first_row * inner;
    rows(first_row, 1, range.start, {at, inner - at, range.stride});
  }
  if (first_full < last_full) {
    rows(first_full, last_full - first_full, first_full * inner, {0, inner, range.stride});
  }
  if (last_full * inner < end) {
    rows(last_full, 1, last_full * inner, {0, end - last_full * inner, range.stride});
  }
}

// The tensor with axis `axis` of its frame written as digits of `sizes`.
std::optional<Tensor> split_axis(const Tensor& tensor, size_t axis,
                                 std::span<const int64_t> sizes) {
  Tensor result{tensor.count, tensor.frame, {}};
  auto at = result.frame.erase(result.frame.begin() + static_cast<ptrdiff_t>(axis));
  result.frame.insert(at, sizes.begin(), sizes.end());
  for (const Piece& piece : tensor.pieces) {
    std::vector<SplitPart> parts;
    split_range(piece.ranges[axis], sizes, piece.offset, {}, parts);
    for (SplitPart& part : parts) {
      Piece made{piece.source, part.offset, {}};
      made.ranges.reserve(result.frame.size());
      made.ranges.assign(piece.ranges.begin(), piece.ranges.begin() + static_cast<ptrdiff_t>(axis));
      made.ranges.insert(made.ranges.end(), part.ranges.begin(), part.ranges.end());
      made.ranges.insert(made.ranges.end(), piece.ranges.begin() + static_cast<ptrdiff_t>(axis) + 1,
                         piece.ranges.end());
      result.pieces.push_back(std::move(made));
    }
    if (static_cast<int64_t>(result.pieces.size()) > kMaxPieces) return std::nullopt;
  }
  return result;
}

// Where both digits run, the range of both as one axis; nothing where they are no single range.
std::optional<Range> joined_range(const Range& outer, const Range& inner, int64_t inner_size) {
  if (outer.size == 1) {
    return Range{outer.start * inner_size + inner.start, inner.size, inner.stride};
  }
  if (inner.size == inner_size && outer.stride == inner.stride * inner_size) {
    return Range{outer.start * inner_size, outer.size * inner_size, inner.stride};
  }
  return std::nullopt;
}

// Both lists of sizes have the same product. If all their suffix products divide one another in
// turn: the sizes of the frame that refines both; else nothing.
std::optional<std::vector<int64_t>> common_refinement(std::span<const int64_t> a,
                                                      std::span<const int64_t> b) {
  std::vector<int64_t> reversed;
  size_t i = a.size(), j = b.size();
  int64_t left_a = 1, left_b = 1;
  for (;;) {
    while (left_a == 1 && i > 0) left_a = a[--i];
    while (left_b == 1 && j > 0) left_b = b[--j];
    if (left_a == 1 || left_b == 1) break;
    int64_t smaller = std::min(left_a, left_b);
    if (left_a % smaller != 0 || left_b % smaller != 0) return std::nullopt;
    reversed.push_back(smaller);
    left_a /= smaller;
    left_b /= smaller;
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

}  // namespace

std::optional<View> view(const Tensor& tensor, std::span<const int64_t> dims) {
  View seen{tensor, std::vector<size_t>(dims.size(), 0)};
  Tensor& result = seen.tensor;
  // Block by block: from one place where both agree to the next.
  size_t axis = 0;  // of the frame
  for (size_t dim = 0; dim < dims.size();) {
    if (dims[dim] == 1) {
      ++dim;
      continue;
    }
    size_t dim_end = dim + 1, axis_end = axis + 1;
    int64_t of_dims = dims[dim], of_axes = result.frame[axis];
    while (of_dims != of_axes) {
      if (of_dims < of_axes) {
        of_dims *= dims[dim_end++];
      } else {
        of_axes *= result.frame[axis_end++];
      }
    }
    std::vector<int64_t> wanted;
    for (size_t i = dim; i < dim_end; ++i) {
      if (dims[i] != 1) wanted.push_back(dims[i]);
    }
    std::span<const int64_t> own(result.frame.data() + axis, axis_end - axis);
    std::optional<std::vector<int64_t>> common = common_refinement(own, wanted);
    if (!common) {
      for (size_t i = axis + 1; i < axis_end; ++i) {
        std::optional<Tensor> merged = merge_axes(result, axis);
        if (!merged) return std::nullopt;
        result = *std::move(merged);
      }
      axis_end = axis + 1;
      common = wanted;
    }
    // Split each own axis into its part of the common sizes.
    size_t next = 0;
    for (size_t i = axis; i < axis_end; ++i) {
      size_t end = next;
      for (int64_t size = 1; size < result.frame[axis + next]; ++end) size *= (*common)[end];
      if (end - next > 1) {
        std::optional<Tensor> split =
            split_axis(result, axis + next, std::span(*common).subspan(next, end - next));
        if (!split) return std::nullopt;
        result = *std::move(split);
      }
      next = end;
    }
    next = 0;
    for (size_t i = dim; i < dim_end; ++i) {
      for (int64_t size = 1; size < dims[i]; ++seen.groups[i]) size *= (*common)[next++];
    }
    axis += common->size();
    dim = dim_end;
  }
  if (result.frame != tensor.frame && !cut(result)) return std::nullopt;
  return seen;
}

std::optional<Tensor> merge_axes(const Tensor& tensor, size_t axis) {
  int64_t inner_size = tensor.frame[axis + 1];
  Tensor result{tensor.count, tensor.frame, {}};
  result.frame[axis] *= inner_size;
  result.frame.erase(result.frame.begin() + static_cast<ptrdiff_t>(axis) + 1);
  auto add = [&](const Piece& piece, int64_t offset, const Range& range) {
    Piece made{piece.source, offset, piece.ranges};
    made.ranges[axis] = range;
    made.ranges.erase(made.ranges.begin() + static_cast<ptrdiff_t>(axis) + 1);
    result.pieces.push_back(std::move(made));
  };
  for (const Piece& piece : tensor.pieces) {
    const Range& outer = piece.ranges[axis];
    const Range& inner = piece.ranges[axis + 1];
    if (std::optional<Range> range = joined_range(outer, inner, inner_size)) {
      add(piece, piece.offset, *range);
      continue;
    }
    if (static_cast<int64_t>(result.pieces.size()) + outer.size > kMaxPieces) return std::nullopt;
    for (int64_t i = 0; i < outer.size; ++i) {
      add(piece, piece.offset + i * outer.stride,
          {(outer.start + i) * inner_size + inner.start, inner.size, inner.stride});
    }
  }
  return result;
}

bool can_merge_axes(const Tensor& tensor, size_t axis) {
  for (const Piece& piece : tensor.pieces) {
    if (!joined_range(piece.ranges[axis], piece.ranges[axis + 1], tensor.frame[axis + 1])) {
      return false;
    }
  }
  return true;
}

}  // namespace minihlo::prove
