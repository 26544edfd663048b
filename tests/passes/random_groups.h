// Random meshes and groups of a collective, as text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/semantics/groups.h"
#include "ir/semantics/mesh.h"

namespace minihlo::testing {

using Random = std::mt19937;

inline int64_t below(Random& random, int64_t limit) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
}

template <class T>
const T& one_of(Random& random, const std::vector<T>& list) {
  return list[static_cast<size_t>(below(random, static_cast<int64_t>(list.size())))];
}

/// Groups of one size over a mesh.
struct RandomGroups {
  Mesh mesh;
  GroupMode mode;
  int64_t members;         // devices of a group
  std::string attributes;  // ", channel_id=1, replica_groups={{0,1}}, ..."

  std::string header() const {
    return fmt::format("HloModule m, replica_count={}, num_partitions={}\n", mesh.replicas,
                       mesh.partitions);
  }
};

/// `modes`: those that the opcode has. Members of a group are in any order.
inline RandomGroups random_groups(Random& random, const std::vector<GroupMode>& modes) {
  static const std::vector<Mesh> kMeshes = {{1, 2}, {1, 3}, {1, 4}, {1, 5}, {1, 6}, {1, 8},
                                            {2, 1}, {3, 1}, {4, 1}, {6, 1}, {2, 2}, {2, 3},
                                            {3, 2}, {2, 4}, {4, 2}, {3, 3}};
  RandomGroups groups{one_of(random, kMeshes), one_of(random, modes), 1, ""};
  const int64_t ids = id_count(groups.mode, groups.mesh);
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= ids; ++size) {
    if (ids % size == 0) sizes.push_back(size);
  }
  // Larger ones more often.
  const int64_t size = std::max(one_of(random, sizes), one_of(random, sizes));
  std::vector<int64_t> order(static_cast<size_t>(ids));
  std::iota(order.begin(), order.end(), 0);
  if (below(random, 3) > 0) std::shuffle(order.begin(), order.end(), random);
  std::string lists;
  for (int64_t start = 0; start < ids; start += size) {
    std::vector<int64_t> group(order.begin() + start, order.begin() + start + size);
    lists += fmt::format("{}{{{}}}", lists.empty() ? "" : ",", fmt::join(group, ","));
  }
  if (size == ids && groups.mode != GroupMode::kFlattenedId && below(random, 3) == 0) lists = "";
  groups.members = size;
  if (groups.mode == GroupMode::kCrossReplicaAndPartition) groups.members *= groups.mesh.partitions;
  if (groups.mode != GroupMode::kCrossReplica) groups.attributes = ", channel_id=7";
  groups.attributes += fmt::format(", replica_groups={{{}}}", lists);
  if (groups.mode == GroupMode::kFlattenedId) groups.attributes += ", use_global_device_ids=true";
  return groups;
}

}  // namespace minihlo::testing
