// Movement, described once, from the result's side.
//
// A movement operation never looks at the elements it moves. Its result is cut into disjoint boxes
// that cover it; each box names an operand and says, axis by axis, which of the operand's elements
// it takes. The simulator turns boxes into copies, the prover substitutes boxes into boxes, so that
// what is run and what is proved can't drift apart.
//
//   result  [0,8) x [0,4)          concatenate(f32[3,4] a, f32[5,4] b), dimensions={0}
//   box     [0,3) x [0,4)  <-  operand 0, base (0,0), axis 0 stride 1, axis 1 stride 1
//   box     [3,8) x [0,4)  <-  operand 1, base (0,0), axis 0 stride 1, axis 1 stride 1
//
// Element order is the row-major order of logical indices everywhere, so a reshape moves nothing:
// it is one box between two ranges of linear indices. A bitcast is up to two movements: into the
// physical order of its operand's layout, and out of that of its own.
//
// Of a collective the "operand" of a box is operand k of one member of the group.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ir/instruction.h"

namespace minihlo {

/// One axis of a box: result indices start, start + step, ... (size of them). Result index number t
/// takes operand index base[operand_axis] + t * stride; operand_axis -1: the operand does not move
/// with this axis (a broadcast).
struct BoxAxis {
  int64_t start = 0;
  int64_t size = 0;
  int64_t step = 1;
  int operand_axis = -1;
  int64_t stride = 0;
};

struct Box {
  static constexpr int kZero = -1;  // filled with zero (false) instead of coming from an operand

  int operand = 0;
  int member = 0;             // of collectives: the rank in the group whose operand it is
  std::vector<BoxAxis> axes;  // one a result axis
  std::vector<int64_t> base;  // one an operand axis: the operand index of the box's first element

  bool is_empty() const {
    for (const BoxAxis& axis : axes) {
      if (axis.size == 0) return true;
    }
    return false;
  }
};

/// A box of the whole of `dims`, each axis of it taken from the same axis of the operand.
Box whole_box(std::span<const int64_t> dims, int operand = 0);

struct Movement {
  std::vector<int64_t> result_dims;  // as the boxes see the result
  std::vector<std::vector<int64_t>>
      operand_dims;        // as the boxes see each operand; one if all alike
  std::vector<Box> boxes;  // disjoint; they cover the result

  const std::vector<int64_t>& dims_of(const Box& box) const {
    return operand_dims[operand_dims.size() == 1 ? 0 : box.operand];
  }

  /// Whether the elements stay in row-major order: the result is its operand's buffer.
  bool is_identity() const;
};

/// What an instruction whose movement depends on values was told of them.
struct MovementFacts {
  /// Start indices of dynamic-slice and dynamic-update-slice, before clamping.
  std::vector<int64_t> starts;
};

/// Whether the opcode only moves elements, at known start indices where it has any: broadcast,
/// reshape, transpose, slice, concatenate, pad, reverse, copy, bitcast without change of element
/// type, dynamic-slice, dynamic-update-slice, ...
bool is_movement(const Instruction& instruction);
/// The number of leading operands whose elements it moves. The others are start indices.
size_t moved_operand_count(const Instruction& instruction);

/// The movement of `instruction`: to be applied one after the other, each but the first on the
/// result of the one before. Requires is_movement() and a verified instruction; `facts` has the
/// start indices where there are any. An error where a shape is dynamic or more than kMaxBoxes
/// boxes are needed.
tl::expected<std::vector<Movement>, std::string> movement(const Instruction& instruction,
                                                          const MovementFacts& facts = {});
inline constexpr int64_t kMaxBoxes = int64_t{1} << 20;

/// From logical order into the order in which a layout stores an array, and back.
Movement into_physical(const Shape* array);
Movement out_of_physical(const Shape* array);

/// The movement of a collective that only moves (all-gather, all-to-all, collective-permute,
/// collective-broadcast; start forms as well) for result `output`, in a group of `members`, as seen
/// by rank `rank`. Of a collective-permute `members` is 1 and the member is the source, or
/// `members` is 0: nobody sends. What does not depend on the rank is the same for all (all-gather,
/// broadcast).
tl::expected<Movement, std::string> collective_movement(const Instruction& instruction, int output,
                                                        int members, int rank);
bool is_collective_movement(Opcode opcode);
/// Of a reduce-scatter: the part of the reduced operand `output` that rank `rank` of a group of
/// `members` keeps.
tl::expected<Movement, std::string> scatter_movement(const Instruction& reduce_scatter, int output,
                                                     int members, int rank);

/// A strided copy between two row-major buffers, in elements: what a box is to memory. Axes that
/// continue each other on both sides are one; axes of size 1 are gone.
struct StridedCopy {
  struct Axis {
    int64_t size;
    int64_t result_stride;
    int64_t operand_stride;
  };
  int64_t result_offset = 0;
  int64_t operand_offset = 0;
  std::vector<Axis> axes;  // outermost first
};
StridedCopy strided_copy(const Box& box, std::span<const int64_t> result_dims,
                         std::span<const int64_t> operand_dims);

/// Does the copy. `width`: bytes of an element, 1, 2, 4, 8 or 16. Buffers may not overlap.
void copy_strided(const StridedCopy& copy, const std::byte* operand, std::byte* result,
                  int64_t width);
/// Clears what the copy would write.
void clear_strided(const StridedCopy& copy, std::byte* result, int64_t width);

}  // namespace minihlo
