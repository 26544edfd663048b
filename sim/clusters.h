// Which elementwise instructions run together, block by block, so that what they hand to one
// another stays in the cache and takes no memory.
#pragma once

#include <vector>

#include "ir/module.h"

namespace minihlo {

/// The order of a computation, with neighbouring instructions that work on the same elements put
/// together: elementwise ones, and broadcasts for them. A cluster stands where its last member
/// stood or before; no instruction between its members reads one of them. Most have one member.
/// Arrays of fewer than `min_elements` elements are left alone.
std::vector<std::vector<const Instruction*>> form_clusters(
    const Computation& computation, const std::vector<const Instruction*>& order,
    int64_t min_elements);

}  // namespace minihlo
