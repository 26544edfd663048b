// Which ids exchange data through a permute, packed into equal groups.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/attributes.h"

namespace minihlo {

/// Equal groups of the ids 0..count-1 that partition them, such that no pair crosses two groups.
/// Orbits (ids that pairs connect) are packed by first fit, largest first, into the smallest group
/// size that takes them all; in the worst case there is one group. Ids are in ascending order in
/// each group, groups by their first id. Requires 0 <= ids < count and count >= 1. Time is linear
/// in ids and pairs, times the number of divisors of `count`.
std::vector<std::vector<int64_t>> pack_orbits(std::span<const SourceTarget> pairs, int64_t count);

}  // namespace minihlo
