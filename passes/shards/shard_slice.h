// Which shard of an array each device takes by a dynamic-slice, however its start is written:
// looked up in a table, worked out from ids, clamped.
//
//   %gathered = f32[32] all-gather(%x)                       four shards of 8 elements
//   %start = s32[] multiply(%partition-id, 8)
//   %own = f32[8] dynamic-slice(%gathered, %start)           shards 0, 1, 2, 3 on devices 0..3
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ir/semantics/groups.h"
#include "ir/semantics/known_values.h"
#include "ir/semantics/mesh.h"

namespace minihlo {

/// Where a dynamic-slice starts along an axis on each device, clamped as it is done; nothing where
/// that is not known. 0 where it takes the whole axis. Requires static shapes.
std::optional<std::vector<int64_t>> slice_starts(const Instruction& slice, int64_t axis,
                                                 KnownValues& known, const Mesh& mesh);

/// An array of `dims`, cut into `count` equal shards along `axis`.
struct Shards {
  std::span<const int64_t> dims;
  int64_t axis;
  int64_t count;
};

/// By device which of the shards the dynamic-slice takes, and nothing else. What it slices is the
/// array, or another with the same elements in row-major order; then too it must take just a shard,
/// in order. Error: why that is not so, or not known.
tl::expected<std::vector<int64_t>, std::string> sliced_shards(const Instruction& slice,
                                                              const Shards& shards,
                                                              KnownValues& known, const Mesh& mesh);

/// Whether every result of an all-gather (or its start) is as long as one operand from each member
/// of a group. A mesh that is not the one that the module was made for shows here.
bool gathers_one_shard_each(const Instruction& gather, const CollectiveGroups& groups);

/// The members of each device's group whose places are given, as devices. Requires groups that
/// cover the mesh and places within them.
std::vector<int64_t> members_at(const CollectiveGroups& groups, std::span<const int64_t> places);

/// The pairs of a collective-permute that gives each device the operand of `source_of` (-1: of
/// nobody), in order of sources. `mode` is that of a permute: the pairs name replicas or
/// partitions. Error: why no permute of that mode does.
tl::expected<std::vector<SourceTarget>, std::string> permute_pairs(
    std::span<const int64_t> source_of, GroupMode mode, const Mesh& mesh);

}  // namespace minihlo
