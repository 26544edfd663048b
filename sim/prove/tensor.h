// Tensors assembled from pieces of base tensors: what movement does to terms.
//
// A base tensor is a row of elements: a parameter of a device, a literal, the result of an
// operation that computes. An assembled tensor says where each of its elements comes from without
// holding any: its linear indices are written as digits of a mixed radix, the frame, and it is cut
// into boxes of digits, the pieces, in each of which the source index is an affine function of the
// digits.
//
//   transpose of a f32[2,3] x:   frame (3,2)   piece [0,3) x [0,2)  <-  x[0 + 1*i + 3*j]
//   all-gather of 4 shards:      frame (12)    pieces [0,3) <- x@0, [3,6) <- x@1, ...
//
// A reshape changes nothing, whatever the size. Frames are split where an operation looks at the
// tensor through dimensions that cut its axes, merged where it does not fit them, and made as
// coarse as the pieces allow afterwards.
//
// Normal form: pieces are sorted, cut axis by axis (all pieces that meet a range of the first axis
// have just that range), neighbours that continue each other are one, no axis has size 1, and no
// two neighbouring axes could be one. It makes equal tensors look equal in almost all cases;
// same_elements() decides the rest.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "ir/semantics/movement.h"

namespace minihlo::prove {

/// A term on a device: `node` of the pool, seen from `device`.
struct Handle {
  static constexpr int32_t kNoDevice = -1;  // the same on every device
  static constexpr int32_t kSame = -2;      // within a node: the device that the node is seen from

  uint32_t node = UINT32_MAX;
  int32_t device = kNoDevice;

  bool operator==(const Handle&) const = default;
};

/// Digits start .. start + size - 1 of one frame axis; each step moves `stride` source elements.
struct Range {
  int64_t start;
  int64_t size;
  int64_t stride;

  bool operator==(const Range&) const = default;
};

struct Piece {
  Handle source;
  int64_t offset = 0;         // source index of the first element
  std::vector<Range> ranges;  // one a frame axis

  bool operator==(const Piece&) const = default;
  int64_t element_count() const;
  /// Whether all of it is one source element.
  bool is_constant() const;
};

struct Tensor {
  int64_t count = 0;           // elements; 0: no pieces
  std::vector<int64_t> frame;  // sizes, outermost first; their product is `count`
  std::vector<Piece> pieces;   // disjoint, covering

  bool operator==(const Tensor&) const = default;
};

/// More pieces than this are not made: the operation is then a term of its own.
inline constexpr int64_t kMaxPieces = int64_t{1} << 20;

/// The whole of a base tensor.
Tensor whole_tensor(Handle source, int64_t count);
/// `count` times element 0 of a base tensor.
Tensor splat_tensor(Handle source, int64_t count);

/// Brings a tensor into normal form. False where that needs too many pieces.
bool normalize(Tensor& tensor);

/// Cuts pieces axis by axis and sorts them, without changing the frame. False where that needs too
/// many pieces.
bool cut(Tensor& tensor);

/// A tensor seen through dimensions: its frame refines them; groups[a] frame axes make up
/// dimension a. The pieces are cut axis by axis.
struct View {
  Tensor tensor;
  std::vector<size_t> groups;
};
/// Requires that the product of `dims` is the tensor's count. Nothing where it needs too many
/// pieces.
std::optional<View> view(const Tensor& tensor, std::span<const int64_t> dims);

/// A box of digits on which each of several tensors is one piece: their parts of it, all with the
/// same ranges but for the strides.
using Overlay = std::vector<Piece>;
/// The common refinement of tensors of one count. All overlays have the frame `frame`. Nothing
/// where it needs too many pieces.
std::optional<std::vector<Overlay>> overlay(std::vector<Tensor> tensors,
                                            std::vector<int64_t>& frame);

/// The pieces that meet a box of digits (one range an axis, strides ignored), by search.
/// Requires normal form, or a tensor whose pieces were cut axis by axis.
std::vector<size_t> overlapping(const Tensor& tensor, std::span<const Range> box);

/// Where linear element `index` comes from: the piece, and the source index.
struct Place {
  size_t piece;
  int64_t source_index;
};
Place place_of(const Tensor& tensor, int64_t index);

/// Two neighbouring frame axes as one. Pieces that are no single range of it are cut into one for
/// each outer digit. Nothing where those are too many.
std::optional<Tensor> merge_axes(const Tensor& tensor, size_t axis);
/// Whether merge_axes() would cut no piece.
bool can_merge_axes(const Tensor& tensor, size_t axis);

/// A part of a result: pieces in a frame that refines the box's sizes, to be put at the box.
struct PlacedTensor {
  std::vector<BoxAxis> axes;
  std::vector<std::vector<int64_t>> frames;  // the frame axes within each result axis
  std::vector<Piece> pieces;
};
/// What `box` takes of an operand that is seen through its dimensions.
std::optional<PlacedTensor> extract(const View& operand, const Box& box);
/// The box filled with a base tensor of one element.
PlacedTensor filled(Handle scalar, const Box& box);
/// The result that the parts make up, in normal form.
std::optional<Tensor> assemble(std::span<const int64_t> result_dims,
                               std::vector<PlacedTensor> parts);

}  // namespace minihlo::prove
