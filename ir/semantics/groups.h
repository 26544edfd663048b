// Which devices take part in a collective together: what the numbers in replica_groups and
// source_target_pairs stand for (xla/service/collective_ops_utils.cc).
//
//   channel_id   use_global_device_ids   mode                     ids are
//   absent       absent or false         cross replica            replicas, for each partition
//   present      opcode has none         cross partition          partitions, for each replica
//   present      false                   replica and partition    replicas, with all partitions
//   present      true                    flattened id             devices
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "ir/instruction.h"
#include "ir/semantics/mesh.h"

namespace minihlo {

enum class GroupMode : uint8_t {
  kCrossReplica,
  kCrossPartition,
  kCrossReplicaAndPartition,
  kFlattenedId,
};

/// How a collective, one of its start forms, or a send or recv reads its ids. Errors: the opcode
/// has no ids; use_global_device_ids=true without channel_id.
tl::expected<GroupMode, std::string> group_mode(const Instruction& collective);

/// "replica", "partition" or "device": what one id of a mode names.
std::string_view id_noun(GroupMode mode);
/// How many ids of that kind a mesh has.
int64_t id_count(GroupMode mode, const Mesh& mesh);

/// How many ids replica_groups lists in all, without listing them; 0 for `{}`. Requires groups that
/// check() accepts.
int64_t listed_id_count(const DeviceGroups& groups);
/// How many ids the first group of replica_groups has; 0 for `{}`. Requires the same.
int64_t first_group_size(const DeviceGroups& groups);

/// The groups of a collective on a mesh, as flattened device ids in rank order.
class CollectiveGroups {
 public:
  GroupMode mode = GroupMode::kCrossReplica;
  /// For every device its group, and its place there; -1 for a device in no group.
  std::vector<int64_t> group_of;
  std::vector<int64_t> rank_of;

  int64_t size() const { return static_cast<int64_t>(starts_.size()) - 1; }
  std::span<const int64_t> group(int64_t i) const {
    return std::span(members_).subspan(static_cast<size_t>(starts_[i]),
                                       static_cast<size_t>(starts_[i + 1] - starts_[i]));
  }
  int64_t group_size(int64_t i) const { return starts_[i + 1] - starts_[i]; }
  /// Whether all groups have the same number of devices.
  bool is_uniform() const;
  /// Whether each device is in some group.
  bool covers_mesh() const;

 private:
  friend tl::expected<CollectiveGroups, std::string> collective_groups(const Instruction&,
                                                                       const Mesh&);
  std::vector<int64_t> members_;       // of all groups, one group after the other
  std::vector<int64_t> starts_ = {0};  // where each group starts, and the end
};

/// The groups of a collective with replica_groups. Groups that are given by replicas are repeated
/// for each partition and the other way round; an empty list is everything. Errors: the mode's,
/// an empty group, ids beyond the mesh, an id that is listed twice, no groups where ids are
/// flattened. Devices in no group are no error here: what becomes of them depends on the opcode.
/// Time and memory are linear in the devices of the mesh.
tl::expected<CollectiveGroups, std::string> collective_groups(const Instruction& collective,
                                                              const Mesh& mesh);

/// Who sends to whom, by flattened ids.
struct PermuteMap {
  GroupMode mode = GroupMode::kCrossReplica;
  /// For every device the one whose operand it gets; -1: none, its result is zeros.
  std::vector<int64_t> source_of;
  /// For every device the one that gets its operand, or -1.
  std::vector<int64_t> target_of;
};

/// The pairs of a collective-permute (or its start), or those that the frontend attribute
/// _xla_send_recv_source_target_pairs gives a send or recv. Errors: ids beyond the mesh, a source
/// or target that is named twice, pairs that can't be read.
tl::expected<PermuteMap, std::string> permute_sources(const Instruction& permute, const Mesh& mesh);
/// The same of a permute that writes slices in place, where a device may be source, and target, as
/// often as there are slices: a pair belongs to the first round in which neither of its devices has
/// the same part already, and round k moves slice k. At least one round, which may be empty.
tl::expected<std::vector<PermuteMap>, std::string> permute_rounds(const Instruction& permute,
                                                                  const Mesh& mesh);

/// Whether there are pairs: always in a permute, by frontend attribute in a send or recv.
bool has_source_target_pairs(const Instruction& permute);
/// The pairs as ids of the mode: source_target_pairs, or of a send or recv the frontend attribute.
tl::expected<std::vector<SourceTarget>, std::string> source_target_pairs(
    const Instruction& permute);

}  // namespace minihlo
