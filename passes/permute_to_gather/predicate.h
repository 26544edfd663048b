// What the Neuron compiler asks of a permute's pairs before it rewrites it.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <tl/expected.hpp>

#include "ir/attributes.h"

namespace minihlo {

/// The largest total for which a mapping can be made: the longest vector of 32-bit entries.
inline constexpr int64_t kMaxMappingEntries = 2305843009213693951;

/// Why pairs are invalid for the native permute; an empty string when they are valid: a full
/// permutation of the ids 0..R*P-1 inside groups of R. They are invalid when a target is named
/// twice, when a pair crosses a group (source / R differs from target / R), or when an id below R*P
/// is no target. Error: R*P beyond kMaxMappingEntries, whatever the pairs. Requires positive
/// counts. Time and memory are linear in the pairs, whatever the mesh.
tl::expected<std::string, std::string> source_target_pairs_fault(
    std::span<const SourceTarget> pairs, int64_t replicas, int64_t partitions);

}  // namespace minihlo
