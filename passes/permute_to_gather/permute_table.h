// What replaces the pairs of a permute: who gathers with whom, and which shard each then takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "ir/attributes.h"
#include "ir/semantics/groups.h"
#include "ir/semantics/mesh.h"
#include "passes/permute_to_gather/options.h"

namespace minihlo {

struct PermuteTable {
  /// What a device looks its entry up by: replica, partition or flattened id.
  GroupMode index = GroupMode::kCrossReplica;
  /// Groups of the all-gather, in rank order and of equal size: of replica ids, each gathered in
  /// every partition by itself, or of flattened ids.
  bool flattened_groups = false;
  std::vector<std::vector<int64_t>> groups;
  /// By id: the place in the device's group whose shard it takes.
  std::vector<int64_t> entries;
  /// By id: whether it takes one at all, else zeros. Empty where all do.
  std::vector<int64_t> received;

  int64_t group_size() const { return static_cast<int64_t>(groups.front().size()); }
};

/// Error: why the permute has to be left alone: pairs that name what the mesh does not have, or
/// (but for the preset, where the last pair counts) a source or target named twice. `mode` is the
/// permute's.
tl::expected<PermuteTable, std::string> make_permute_table(std::span<const SourceTarget> pairs,
                                                           GroupMode mode, const Mesh& mesh,
                                                           const PermuteToGatherOptions& options);

/// What gives each id of `ids` the operand of another, or zeros (-1): looked up by these ids, in
/// equal groups of them that hold an id with its source.
PermuteTable gather_table(std::span<const int64_t> source_of,
                          std::vector<std::vector<int64_t>> groups, GroupMode ids,
                          const Mesh& mesh);

}  // namespace minihlo
