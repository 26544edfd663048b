#include "passes/permute_to_gather/permute_table.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "passes/permute_to_gather/orbits.h"

namespace minihlo {
namespace {

using Id = PermuteToGatherOptions::Id;
using Fill = PermuteToGatherOptions::Fill;

GroupMode table_index(GroupMode ids, const Mesh& mesh, Id option) {
  if (option == Id::kReplica || ids == GroupMode::kCrossReplica) return GroupMode::kCrossReplica;
  if (ids == GroupMode::kCrossPartition) return GroupMode::kCrossPartition;
  // Where one axis has a single cell the other's id is the flattened one.
  if (mesh.partitions == 1) return GroupMode::kCrossReplica;
  return mesh.replicas == 1 ? GroupMode::kCrossPartition : GroupMode::kFlattenedId;
}

// For every id the source of its last pair, or -1.
tl::expected<std::vector<int64_t>, std::string> sources(std::span<const SourceTarget> pairs,
                                                        GroupMode ids, const Mesh& mesh,
                                                        bool last_pair_wins) {
  const auto count = static_cast<size_t>(id_count(ids, mesh));
  std::vector<int64_t> source_of(count, -1);
  std::vector<bool> sends(count);
  for (const SourceTarget& pair : pairs) {
    for (int64_t id : {pair.source, pair.target}) {
      if (id >= 0 && id < static_cast<int64_t>(count)) continue;
      return tl::make_unexpected(
          fmt::format("its pairs name {} {}, beyond the mesh of {} replicas and {} partitions",
                      id_noun(ids), id, mesh.replicas, mesh.partitions));
    }
  }
  for (const SourceTarget& pair : pairs) {
    int64_t& source = source_of[static_cast<size_t>(pair.target)];
    if (!last_pair_wins) {
      if (source >= 0) {
        return tl::make_unexpected(
            fmt::format("its pairs are not valid: target {} is named twice", pair.target));
      }
      if (sends[static_cast<size_t>(pair.source)]) {
        return tl::make_unexpected(
            fmt::format("its pairs are not valid: source {} is named twice", pair.source));
      }
      sends[static_cast<size_t>(pair.source)] = true;
    }
    source = pair.source;
  }
  return source_of;
}

}  // namespace

tl::expected<PermuteTable, std::string> make_permute_table(std::span<const SourceTarget> pairs,
                                                           GroupMode mode, const Mesh& mesh,
                                                           const PermuteToGatherOptions& options) {
  const GroupMode ids = options.id == Id::kAuto ? mode : GroupMode::kFlattenedId;
  auto source_of = sources(pairs, ids, mesh, options.preset);
  if (!source_of) return tl::make_unexpected(std::move(source_of.error()));
  const auto count = static_cast<int64_t>(source_of->size());

  std::vector<std::vector<int64_t>> groups;
  if (options.orbits) {
    groups = pack_orbits(pairs, count);
  } else {
    std::vector<int64_t>& all = groups.emplace_back(static_cast<size_t>(count));
    std::iota(all.begin(), all.end(), 0);
  }

  if (options.fill == Fill::kIdentity) {
    for (int64_t id = 0; id < count; ++id) {
      int64_t& source = (*source_of)[static_cast<size_t>(id)];
      if (source < 0) source = id;
    }
  }
  PermuteTable table = gather_table(*source_of, std::move(groups), ids, mesh);
  table.index = table_index(ids, mesh, options.id);
  return table;
}

PermuteTable gather_table(std::span<const int64_t> source_of,
                          std::vector<std::vector<int64_t>> groups, GroupMode ids,
                          const Mesh& mesh) {
  PermuteTable table;
  table.index = ids;
  // Zeros are selected behind the slice, so a hole may look up any shard.
  std::vector<int64_t> place(source_of.size());
  for (const std::vector<int64_t>& group : groups) {
    for (size_t i = 0; i < group.size(); ++i) {
      place[static_cast<size_t>(group[i])] = static_cast<int64_t>(i);
    }
  }
  bool has_holes = false;
  for (int64_t source : source_of) {
    const bool hole = source < 0;
    has_holes |= hole;
    table.received.push_back(hole ? 0 : 1);
    table.entries.push_back(hole ? 0 : place[static_cast<size_t>(source)]);
  }
  if (!has_holes) table.received.clear();

  table.flattened_groups = ids != GroupMode::kCrossReplica;
  if (ids != GroupMode::kCrossPartition) {
    table.groups = std::move(groups);
    return table;
  }
  for (int64_t replica = 0; replica < mesh.replicas; ++replica) {
    for (const std::vector<int64_t>& group : groups) {
      std::vector<int64_t>& devices = table.groups.emplace_back(group);
      for (int64_t& id : devices) id = mesh.flattened(replica, id);
    }
  }
  return table;
}

}  // namespace minihlo
