#include "sim/prove/tensor.h"

#include <algorithm>

namespace minihlo::prove {
namespace {

// Whether `next` continues `piece` along `axis`, all other axes being alike.
bool continues(const Piece& piece, const Piece& next, size_t axis) {
  const Range& own = piece.ranges[axis];
  const Range& more = next.ranges[axis];
  if (piece.source != next.source || own.start + own.size != more.start) return false;
  for (size_t i = 0; i < piece.ranges.size(); ++i) {
    if (i != axis && piece.ranges[i] != next.ranges[i]) return false;
  }
  int64_t stride = own.size == 1 ? next.offset - piece.offset : own.stride;
  return piece.offset + stride * own.size == next.offset &&
         (more.size == 1 || more.stride == stride);
}

void extend(Piece& piece, const Piece& next, size_t axis) {
  Range& own = piece.ranges[axis];
  if (own.size == 1) own.stride = next.offset - piece.offset;
  own.size += next.ranges[axis].size;
}

// Cuts pieces, all of which have the same ranges along the axes before `axis`, axis by axis, and
// appends the result in order.
class Cutter {
 public:
  explicit Cutter(size_t rank) : rank_(rank) {}

  bool cut(std::vector<Piece> pieces, size_t axis) {
    while (axis < rank_ && alike(pieces, axis)) ++axis;
    if (axis == rank_) {
      // Pieces are disjoint, so there is just one left.
      out.push_back(std::move(pieces[0]));
      return static_cast<int64_t>(out.size()) <= kMaxPieces;
    }
    std::vector<int64_t> bounds;
    for (const Piece& piece : pieces) {
      bounds.push_back(piece.ranges[axis].start);
      bounds.push_back(piece.ranges[axis].start + piece.ranges[axis].size);
    }
    std::sort(bounds.begin(), bounds.end());
    bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
    std::vector<std::vector<Piece>> segments(bounds.size() - 1);
    int64_t made = 0;
    for (Piece& piece : pieces) {
      const Range own = piece.ranges[axis];
      auto at = std::lower_bound(bounds.begin(), bounds.end(), own.start) - bounds.begin();
      for (auto i = static_cast<size_t>(at); bounds[i] < own.start + own.size; ++i) {
        Piece part = piece;
        part.offset += (bounds[i] - own.start) * own.stride;
        int64_t size = bounds[i + 1] - bounds[i];
        part.ranges[axis] = {bounds[i], size, size == 1 ? 0 : own.stride};
        segments[i].push_back(std::move(part));
        if (++made > kMaxPieces) return false;
      }
    }
    size_t previous_start = out.size(), previous_end = out.size();
    for (std::vector<Piece>& segment : segments) {
      if (segment.empty()) continue;
      size_t start = out.size();
      if (!cut(std::move(segment), axis + 1)) return false;
      if (merge_segments(previous_start, previous_end, start, axis)) {
        out.resize(start);
      } else {
        previous_start = start;
      }
      previous_end = out.size();
    }
    return true;
  }

  std::vector<Piece> out;

 private:
  static bool alike(const std::vector<Piece>& pieces, size_t axis) {
    for (const Piece& piece : pieces) {
      if (piece.ranges[axis].start != pieces[0].ranges[axis].start ||
          piece.ranges[axis].size != pieces[0].ranges[axis].size) {
        return false;
      }
    }
    return true;
  }

  // Makes two neighbouring segments of an axis one where each piece of the second continues its
  // like of the first.
  bool merge_segments(size_t first, size_t first_end, size_t second, size_t axis) {
    size_t count = first_end - first;
    if (count == 0 || out.size() - second != count) return false;
    for (size_t i = 0; i < count; ++i) {
      if (!continues(out[first + i], out[second + i], axis)) return false;
    }
    for (size_t i = 0; i < count; ++i) extend(out[first + i], out[second + i], axis);
    return true;
  }

  size_t rank_;
};

}  // namespace

int64_t Piece::element_count() const {
  int64_t count = 1;
  for (const Range& range : ranges) count *= range.size;
  return count;
}

bool Piece::is_constant() const {
  return std::ranges::all_of(ranges, [](const Range& range) { return range.stride == 0; });
}

Tensor whole_tensor(Handle source, int64_t count) {
  Tensor tensor;
  tensor.count = count;
  if (count == 0) return tensor;
  Piece piece{source, 0, {}};
  if (count > 1) {
    tensor.frame.push_back(count);
    piece.ranges.push_back({0, count, 1});
  }
  tensor.pieces.push_back(std::move(piece));
  return tensor;
}

Tensor splat_tensor(Handle source, int64_t count) {
  Tensor tensor = whole_tensor(source, count);
  for (Piece& piece : tensor.pieces) {
    for (Range& range : piece.ranges) range.stride = 0;
  }
  return tensor;
}

bool cut(Tensor& tensor) {
  if (tensor.pieces.empty()) return true;
  Cutter cutter(tensor.frame.size());
  if (!cutter.cut(std::move(tensor.pieces), 0)) return false;
  tensor.pieces = std::move(cutter.out);
  return true;
}

bool normalize(Tensor& tensor) {
  if (tensor.count == 0) {
    tensor.frame.clear();
    tensor.pieces.clear();
    return true;
  }
  for (size_t axis = tensor.frame.size(); axis-- > 0;) {
    if (tensor.frame[axis] != 1) continue;
    tensor.frame.erase(tensor.frame.begin() + static_cast<ptrdiff_t>(axis));
    for (Piece& piece : tensor.pieces) {
      piece.ranges.erase(piece.ranges.begin() + static_cast<ptrdiff_t>(axis));
    }
  }
  for (Piece& piece : tensor.pieces) {
    for (Range& range : piece.ranges) {
      if (range.size == 1) range.stride = 0;
    }
  }
  for (;;) {
    if (!cut(tensor)) return false;
    bool merged_any = false;
    for (size_t axis = tensor.frame.size(); axis-- > 1;) {
      if (!can_merge_axes(tensor, axis - 1)) continue;
      tensor = *merge_axes(tensor, axis - 1);
      merged_any = true;
    }
    if (!merged_any) return true;
  }
}

std::vector<size_t> overlapping(const Tensor& tensor, std::span<const Range> box) {
  std::vector<size_t> found;
  const std::vector<Piece>& pieces = tensor.pieces;
  struct Pending {
    size_t begin, end, axis;
  };
  std::vector<Pending> pending{{0, pieces.size(), 0}};
  while (!pending.empty()) {
    auto [begin, end, axis] = pending.back();
    pending.pop_back();
    if (begin == end) continue;
    if (axis == tensor.frame.size()) {
      for (size_t i = begin; i < end; ++i) found.push_back(i);
      continue;
    }
    auto start = [&, axis = axis](size_t i) { return pieces[i].ranges[axis].start; };
    auto finish = [&, axis = axis](size_t i) { return start(i) + pieces[i].ranges[axis].size; };
    // Runs of pieces with the same range along this axis follow one another.
    size_t low = begin, high = end;
    while (low < high) {
      size_t middle = low + (high - low) / 2;
      if (finish(middle) <= box[axis].start) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    std::vector<Pending> runs;
    while (low < end && start(low) < box[axis].start + box[axis].size) {
      size_t next = std::partition_point(pieces.begin() + static_cast<ptrdiff_t>(low),
                                         pieces.begin() + static_cast<ptrdiff_t>(end),
                                         [&, axis = axis](const Piece& piece) {
                                           return piece.ranges[axis].start == start(low);
                                         }) -
                    pieces.begin();
      runs.push_back({low, next, axis + 1});
      low = next;
    }
    pending.insert(pending.end(), runs.rbegin(), runs.rend());
  }
  return found;
}

Place place_of(const Tensor& tensor, int64_t index) {
  std::vector<Range> box(tensor.frame.size());
  for (size_t axis = tensor.frame.size(); axis-- > 0;) {
    box[axis] = {index % tensor.frame[axis], 1, 0};
    index /= tensor.frame[axis];
  }
  size_t piece = overlapping(tensor, box).front();
  const Piece& from = tensor.pieces[piece];
  int64_t source_index = from.offset;
  for (size_t axis = 0; axis < box.size(); ++axis) {
    source_index += (box[axis].start - from.ranges[axis].start) * from.ranges[axis].stride;
  }
  return {piece, source_index};
}

namespace {

// The part of a piece within a box.
Piece restricted(const Piece& piece, std::span<const Range> box) {
  Piece part = piece;
  for (size_t axis = 0; axis < box.size(); ++axis) {
    Range& own = part.ranges[axis];
    int64_t start = std::max(own.start, box[axis].start);
    int64_t end = std::min(own.start + own.size, box[axis].start + box[axis].size);
    part.offset += (start - own.start) * own.stride;
    own = {start, end - start, end - start == 1 ? 0 : own.stride};
  }
  return part;
}

// Brings tensors to one frame: each is fitted to the first, which is then fitted to it.
bool share_frame(std::vector<Tensor>& tensors) {
  for (size_t round = 0; round <= tensors.size(); ++round) {
    bool same = true;
    for (size_t i = 1; i < tensors.size(); ++i) {
      if (tensors[i].frame == tensors[0].frame) continue;
      same = false;
      std::optional<View> fitted = view(tensors[i], tensors[0].frame);
      if (!fitted) return false;
      tensors[i] = std::move(fitted->tensor);
      fitted = view(tensors[0], tensors[i].frame);
      if (!fitted) return false;
      tensors[0] = std::move(fitted->tensor);
    }
    if (same) return true;
  }
  return false;
}

}  // namespace

std::optional<std::vector<Overlay>> overlay(std::vector<Tensor> tensors,
                                            std::vector<int64_t>& frame) {
  if (!share_frame(tensors)) return std::nullopt;
  frame = tensors[0].frame;
  std::vector<Overlay> boxes;
  for (Piece& piece : tensors[0].pieces) boxes.push_back({std::move(piece)});
  for (size_t i = 1; i < tensors.size(); ++i) {
    std::vector<Overlay> finer;
    for (const Overlay& box : boxes) {
      for (size_t piece : overlapping(tensors[i], box[0].ranges)) {
        Piece part = restricted(tensors[i].pieces[piece], box[0].ranges);
        Overlay& made = finer.emplace_back();
        for (const Piece& other : box) made.push_back(restricted(other, part.ranges));
        made.push_back(std::move(part));
        if (static_cast<int64_t>(finer.size()) > kMaxPieces) return std::nullopt;
      }
    }
    boxes = std::move(finer);
  }
  return boxes;
}

}  // namespace minihlo::prove
