// What a shuffle moves (XLA: xla/shuffle.h, hlo/transforms/expanders/shuffle_expander.cc).
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ir/semantics/movement.h"

namespace minihlo {

/// The movement of a shuffle, a step for each dimension that it rotates in turn; `movement()` of
/// it.
///
///   rotate        element i along a dimension is the operand's (i + shift) mod size
///   multi_rotate  the same along the one dimension, with a shift for each place in the others
///   permute       each element names the operand's coordinates along `dimensions`, which are
///                 clamped as those of a gather
///
/// Where shifts or coordinates have size 1 along a dimension, all places along it share them. An
/// error where their values are not known, or more than kMaxBoxes boxes are needed.
tl::expected<std::vector<Movement>, std::string> shuffle_movement(const Instruction& shuffle);

}  // namespace minihlo
