// Random modules in which devices slice shards out of what a collective gives.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/semantics/mesh.h"

namespace minihlo::testing {

/// How groups name devices: as all-gather and all-reduce take them.
enum class GroupIds : uint8_t { kReplicas, kReplicasAndPartitions, kFlattened };

struct ShardModule {
  Mesh mesh;
  /// Flattened ids in rank order.
  std::vector<std::vector<int64_t>> groups;
  /// By device: its place in its group.
  std::vector<int64_t> rank_of;
  /// By device: the shard that it slices out.
  std::vector<int64_t> shard;
  /// Whether no two members of a group take the same.
  bool is_one_to_one = false;
  bool has_other_users = false;
  bool is_integer = false;
  bool is_async = false;
  /// Whether the slice is of a reshaped value.
  bool is_reshaped = false;
  std::string text;

  int64_t members() const { return static_cast<int64_t>(groups[0].size()); }
  bool is_own() const { return shard == rank_of; }
};

/// `collective`: "all-gather" or "all-reduce". Mesh, groups, types, shapes, which shard is taken
/// and how that is written are random.
ShardModule random_shard_module(std::mt19937& random, const std::string& collective);

/// A scalar by device as text: instructions that make `name`, an s32[], from ids and constants, and
/// computations that they need. `way`: which of kWays ways.
struct KnownScalar {
  std::string computations;
  std::string instructions;
};
inline constexpr int kWays = 6;
KnownScalar known_scalar(const std::string& name, const std::vector<int64_t>& by_device,
                         const Mesh& mesh, int way);

}  // namespace minihlo::testing
