// collective-permute that writes slices of one buffer into another.
#pragma once

#include <span>
#include <vector>

#include "ir/semantics/mesh.h"
#include "sim/run/domain.h"
#include "sim/run/kernel.h"

namespace minihlo {

/// Adds the work of a permute with slice_sizes: (inputs, outputs, offsets in the inputs, offsets in
/// the outputs). In round k (see permute_rounds) a source's input, from its input offset k on, goes
/// to its target's output, from the target's output offset k on; offsets are clamped as those of
/// dynamic-slice. What is not written keeps the output. Offsets are tuples of scalars, one an axis;
/// tuples of them where there are several slices; and tuples of those, one a buffer, where the
/// buffers are tuples. slice_sizes lists the slices of all buffers. `results` is by buffer, then by
/// position in the gathering.
KernelResult permute_in_place(KernelCall& call, const Mesh& mesh,
                              std::span<const BufferDomain::Array> operands,
                              const Gathering& gathering,
                              std::vector<std::vector<Buffer>>& results);

}  // namespace minihlo
