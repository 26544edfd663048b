// The first stage of long sums: sums over blocks of what is reduced.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/run/kernel.h"
#include "sim/run/kernels/fold.h"

namespace minihlo {

/// An array whose axes are reduced in part, row-major.
struct BlockedArray {
  Buffer data;
  std::vector<int64_t> dims;
  std::vector<bool> is_reduced;  // by axis
};

/// Whether a reduced axis is longer than a block.
bool has_blocks(const BlockedArray& array);

/// Adds a stage of work that makes of every reduced axis one with an element for each block: the
/// block's elements, in row-major order, combined from its first one on by `fold`. The blocks of an
/// axis of d elements, n = ⌈d / 32⌉, lie in the middle of the 32 n that they have room for: the
/// first block is short by ⌊(32 n − d) / 2⌋.
tl::expected<BlockedArray, Stop> add_blocks(KernelCall& call, const BlockedArray& array,
                                            int64_t width, const Fold& fold);

}  // namespace minihlo
