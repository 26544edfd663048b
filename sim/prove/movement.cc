// Boxes substituted into boxes: what a movement makes of an assembled tensor.
#include <algorithm>
#include <numeric>

#include "ir/row_major.h"
#include "sim/prove/tensor.h"

namespace minihlo::prove {
namespace {

// Which indices of an operand axis a box takes: start + stride * t for t < size.
struct Taken {
  int64_t start = 0;
  int64_t size = 1;
  int64_t stride = 1;
};

// Takes digits `range` (stride +1 or -1) of frame axis `axis` and counts them anew from 0.
void take_digits(Tensor& tensor, size_t axis, const Taken& taken) {
  std::vector<Piece> kept;
  for (Piece& piece : tensor.pieces) {
    Range& own = piece.ranges[axis];
    // Indices t with own.start <= start + stride * t < own.start + own.size.
    int64_t low = own.start - taken.start, high = own.start + own.size - 1 - taken.start;
    int64_t first, last;
    if (taken.stride > 0) {
      first = low <= 0 ? 0 : (low + taken.stride - 1) / taken.stride;
      last = high < 0 ? -1 : high / taken.stride;
    } else {
      int64_t step = -taken.stride;
      first = high >= 0 ? 0 : (-high + step - 1) / step;
      last = low > 0 ? -1 : -low / step;
    }
    last = std::min(last, taken.size - 1);
    if (first > last) continue;
    piece.offset += (taken.start + taken.stride * first - own.start) * own.stride;
    own = {first, last - first + 1, own.stride * taken.stride};
    if (own.size == 1) own.stride = 0;
    kept.push_back(std::move(piece));
  }
  tensor.pieces = std::move(kept);
  tensor.frame[axis] = taken.size;
}

// Takes part of a dimension that frame axes [axis, axis + count) make up. Leaves those axes with
// other sizes, or merged into one; returns how many there are then, or nothing.
std::optional<size_t> take(Tensor& tensor, size_t axis, size_t count, const Taken& taken) {
  std::span<const int64_t> sizes(tensor.frame.data() + axis, count);
  int64_t dim = element_count(sizes);
  if (taken.size == dim && taken.stride == 1) return count;
  if (taken.size == dim && taken.stride == -1) {
    for (size_t i = 0; i < count; ++i) {
      take_digits(tensor, axis + i, {tensor.frame[axis + i] - 1, tensor.frame[axis + i], -1});
    }
    return count;
  }
  if (count > 0 && taken.stride == 1) {
    // A range that is one of whole inner digits is a range of the outer digit alone.
    int64_t inner = dim / tensor.frame[axis];
    if (taken.start % inner == 0 && taken.size % inner == 0) {
      take_digits(tensor, axis, {taken.start / inner, taken.size / inner, 1});
      return count;
    }
    if (taken.start / inner == (taken.start + taken.size - 1) / inner) {
      take_digits(tensor, axis, {taken.start / inner, 1, 1});
      std::optional<size_t> rest =
          take(tensor, axis + 1, count - 1, {taken.start % inner, taken.size, 1});
      if (!rest) return std::nullopt;
      return *rest + 1;
    }
  }
  for (size_t i = 1; i < count; ++i) {
    std::optional<Tensor> merged = merge_axes(tensor, axis);
    if (!merged) return std::nullopt;
    tensor = *std::move(merged);
  }
  take_digits(tensor, axis, taken);
  return 1;
}

// The pieces that meet what a box takes, found by search.
std::vector<Piece> met_pieces(const View& operand, std::span<const Taken> taken) {
  std::vector<Range> box;
  for (int64_t size : operand.tensor.frame) box.push_back({0, size, 0});
  size_t axis = 0;
  for (size_t i = 0; i < operand.groups.size(); axis += operand.groups[i++]) {
    if (operand.groups[i] == 0) continue;
    int64_t inner =
        element_count(std::span(operand.tensor.frame).subspan(axis + 1, operand.groups[i] - 1));
    int64_t end = taken[i].start + taken[i].stride * (taken[i].size - 1);
    int64_t low = std::min(taken[i].start, end) / inner;
    int64_t high = std::max(taken[i].start, end) / inner;
    box[axis] = {low, high - low + 1, 0};
  }
  std::vector<Piece> met;
  for (size_t i : overlapping(operand.tensor, box)) met.push_back(operand.tensor.pieces[i]);
  return met;
}

}  // namespace

std::optional<PlacedTensor> extract(const View& operand, const Box& box) {
  std::vector<Taken> taken(operand.groups.size());
  for (size_t i = 0; i < taken.size(); ++i) taken[i].start = box.base[i];
  for (const BoxAxis& axis : box.axes) {
    if (axis.operand_axis < 0) continue;
    Taken& own = taken[static_cast<size_t>(axis.operand_axis)];
    own.size = axis.size;
    own.stride = axis.size == 1 ? 1 : axis.stride;
  }
  Tensor tensor{operand.tensor.count, operand.tensor.frame, met_pieces(operand, taken)};
  std::vector<size_t> groups = operand.groups;

  // Take from the last dimension on, so that the frame axes of the others stay where they are.
  std::vector<size_t> firsts(groups.size());
  std::exclusive_scan(groups.begin(), groups.end(), firsts.begin(), size_t{0});
  for (size_t i = groups.size(); i-- > 0;) {
    if (groups[i] == 0) continue;
    std::optional<size_t> count = take(tensor, firsts[i], groups[i], taken[i]);
    if (!count) return std::nullopt;
    groups[i] = *count;
  }
  std::exclusive_scan(groups.begin(), groups.end(), firsts.begin(), size_t{0});

  PlacedTensor result;
  result.axes = box.axes;
  for (const BoxAxis& axis : box.axes) {
    std::vector<int64_t>& frame = result.frames.emplace_back();
    if (axis.operand_axis < 0) {
      frame.push_back(axis.size);
      continue;
    }
    auto own = static_cast<size_t>(axis.operand_axis);
    if (groups[own] == 0) {
      frame.push_back(1);
      continue;
    }
    for (size_t k = 0; k < groups[own]; ++k) frame.push_back(tensor.frame[firsts[own] + k]);
  }
  for (const Piece& piece : tensor.pieces) {
    Piece made{piece.source, piece.offset, {}};
    for (const BoxAxis& axis : box.axes) {
      auto own = static_cast<size_t>(axis.operand_axis);
      if (axis.operand_axis < 0) {
        made.ranges.push_back({0, axis.size, 0});
      } else if (groups[own] == 0) {
        made.ranges.push_back({0, 1, 0});
      } else {
        for (size_t k = 0; k < groups[own]; ++k) {
          made.ranges.push_back(piece.ranges[firsts[own] + k]);
        }
      }
    }
    result.pieces.push_back(std::move(made));
  }
  return result;
}

PlacedTensor filled(Handle scalar, const Box& box) {
  PlacedTensor result;
  result.axes = box.axes;
  Piece piece{scalar, 0, {}};
  for (const BoxAxis& axis : box.axes) {
    result.frames.push_back({axis.size});
    piece.ranges.push_back({0, axis.size, 0});
  }
  result.pieces.push_back(std::move(piece));
  return result;
}

namespace {

// A part as a tensor of its own, to use what works on tensors.
struct Part {
  std::vector<BoxAxis> axes;
  std::vector<size_t> groups;  // frame axes of each result axis
  Tensor tensor;
};

Part to_part(PlacedTensor placed) {
  Part part{std::move(placed.axes), {}, {}};
  for (const std::vector<int64_t>& frame : placed.frames) {
    part.groups.push_back(frame.size());
    part.tensor.frame.insert(part.tensor.frame.end(), frame.begin(), frame.end());
  }
  part.tensor.pieces = std::move(placed.pieces);
  part.tensor.count = element_count(part.tensor.frame);
  return part;
}

size_t first_axis(const Part& part, size_t dim) {
  return std::accumulate(part.groups.begin(), part.groups.begin() + static_cast<ptrdiff_t>(dim),
                         size_t{0});
}

std::span<const int64_t> frame_of(const Part& part, size_t dim) {
  return std::span(part.tensor.frame).subspan(first_axis(part, dim), part.groups[dim]);
}

// Merges the first axes of a dimension so that `keep` inner ones are left beside one.
bool merge_leading(Part& part, size_t dim, size_t keep) {
  size_t axis = first_axis(part, dim);
  while (part.groups[dim] > keep + 1) {
    std::optional<Tensor> merged = merge_axes(part.tensor, axis);
    if (!merged) return false;
    part.tensor = *std::move(merged);
    --part.groups[dim];
  }
  return true;
}

// Gives all parts the same frame within a dimension and shifts them to their places.
bool place_dimension(std::vector<Part>& parts, size_t dim, int64_t dim_size,
                     std::vector<int64_t>& frame) {
  // The inner axes that all have and that no part cuts can stay.
  size_t keep = SIZE_MAX;
  std::span<const int64_t> first = frame_of(parts[0], dim);
  for (const Part& part : parts) {
    std::span<const int64_t> own = frame_of(part, dim);
    size_t same = 0;
    while (same < std::min(first.size(), own.size()) &&
           first[first.size() - 1 - same] == own[own.size() - 1 - same]) {
      ++same;
    }
    keep = std::min(keep, same);
  }
  bool whole = true;
  for (const Part& part : parts) {
    const BoxAxis& axis = part.axes[dim];
    whole = whole && axis.start == 0 && axis.size == dim_size && axis.step == 1;
  }
  if (whole && keep == first.size()) {
    bool same = true;
    for (const Part& part : parts) same = same && frame_of(part, dim).size() == first.size();
    if (same) {
      frame.insert(frame.end(), first.begin(), first.end());
      return true;
    }
  }
  auto inner_size = [&](size_t count) {
    return element_count(first.subspan(first.size() - count, count));
  };
  auto fits = [&](size_t count) {
    int64_t inner = inner_size(count);
    for (const Part& part : parts) {
      const BoxAxis& axis = part.axes[dim];
      if (frame_of(part, dim).size() <= count || axis.step != 1 || axis.start % inner != 0 ||
          axis.size % inner != 0) {
        return false;
      }
    }
    return dim_size % inner == 0;
  };
  while (keep > 0 && !fits(keep)) --keep;
  int64_t inner = inner_size(keep);
  std::vector<int64_t> kept(first.end() - static_cast<ptrdiff_t>(keep), first.end());
  for (Part& part : parts) {
    if (!merge_leading(part, dim, keep)) return false;
    const BoxAxis& axis = part.axes[dim];
    size_t at = first_axis(part, dim);
    std::vector<Piece> placed;
    for (Piece& piece : part.tensor.pieces) {
      Range& own = piece.ranges[at];
      if (axis.step == 1 || own.size == 1) {
        own.start = axis.start / inner + own.start * axis.step;
        placed.push_back(std::move(piece));
        continue;
      }
      if (static_cast<int64_t>(placed.size()) + own.size > kMaxPieces) return false;
      for (int64_t i = 0; i < own.size; ++i) {
        Piece single = piece;
        single.offset += i * own.stride;
        single.ranges[at] = {axis.start + (own.start + i) * axis.step, 1, 0};
        placed.push_back(std::move(single));
      }
    }
    part.tensor.pieces = std::move(placed);
    part.tensor.frame[at] = dim_size / inner;
  }
  frame.push_back(dim_size / inner);
  frame.insert(frame.end(), kept.begin(), kept.end());
  return true;
}

}  // namespace

std::optional<Tensor> assemble(std::span<const int64_t> result_dims,
                               std::vector<PlacedTensor> placed) {
  Tensor result;
  result.count = element_count(result_dims);
  if (result.count == 0) return result;
  std::vector<Part> parts;
  for (PlacedTensor& part : placed) parts.push_back(to_part(std::move(part)));
  for (size_t dim = 0; dim < result_dims.size(); ++dim) {
    if (!place_dimension(parts, dim, result_dims[dim], result.frame)) return std::nullopt;
  }
  for (Part& part : parts) {
    std::move(part.tensor.pieces.begin(), part.tensor.pieces.end(),
              std::back_inserter(result.pieces));
    if (static_cast<int64_t>(result.pieces.size()) > kMaxPieces) return std::nullopt;
  }
  if (!normalize(result)) return std::nullopt;
  return result;
}

}  // namespace minihlo::prove
