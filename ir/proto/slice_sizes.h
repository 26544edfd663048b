// slice_sizes={{1,2},{3,4}} of in-place permutes, which messages keep as one list.
#pragma once

#include "ir/arena.h"
#include "ir/instruction.h"

namespace minihlo::proto {

/// The list cut into the sizes of each slice: as many as the input, or the input's elements in
/// turn, have dimensions. What does not come out even is one slice.
std::span<const std::span<const int64_t>> split_slice_sizes(Arena& arena,
                                                            std::span<Instruction* const> operands,
                                                            std::span<const int64_t> sizes);

}  // namespace minihlo::proto
