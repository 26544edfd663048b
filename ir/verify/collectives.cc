#include <algorithm>

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include "ir/hash.h"
#include "ir/semantics/groups.h"
#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

// What XLA's CheckReplicaGroups leaves to each opcode.
struct GroupRules {
  bool listed_once;  // ids are 0 to n-1, each once, and n is all there are
  bool uniform;      // all groups have the same size
};

std::optional<GroupRules> group_rules(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kReduceScatter:
    case Opcode::kAllToAll:
    case Opcode::kRaggedAllToAll:
      return GroupRules{true, true};
    case Opcode::kAllReduce:
    case Opcode::kAllReduceStart:
    case Opcode::kCollectiveReduce:
      return GroupRules{true, false};
    case Opcode::kCollectiveBroadcast:
      return GroupRules{false, false};
    default:
      return std::nullopt;
  }
}

// The flags that give the count which a mode's ids are checked against.
std::string_view flags(GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossPartition:
      return "--partitions";
    case GroupMode::kFlattenedId:
      return "--replicas and --partitions";
    default:
      return "--replicas";
  }
}

class Collectives {
 public:
  explicit Collectives(Verification& v) : v_(v), mesh_(*v.mesh()) {}

  void check(const Instruction* instruction) {
    if (std::optional<GroupRules> rules = group_rules(instruction->opcode())) {
      check_groups(instruction, *rules);
    } else if (instruction->opcode() == Opcode::kCollectivePermute ||
               instruction->opcode() == Opcode::kCollectivePermuteStart) {
      check_pairs(instruction);
    } else if (instruction->opcode() == Opcode::kSend || instruction->opcode() == Opcode::kRecv) {
      check_send_recv(instruction);
    }
    if (instruction->opcode() == Opcode::kAllReduce ||
        instruction->opcode() == Opcode::kAllReduceStart) {
      check_all_reduce(instruction);
    }
    if (const Computation* combiner = instruction->get(attr::to_apply);
        combiner && info(instruction->opcode()).family != Family::kReduction) {
      check_combiner(instruction, combiner);
    }
  }

 private:
  void check_groups(const Instruction* instruction, GroupRules rules) {
    auto mode = group_mode(*instruction);
    if (!mode) {
      v_.error("group-mode", instruction, "{}", mode.error());
      return;
    }
    const DeviceGroups* groups = instruction->get(attr::replica_groups);
    if (!groups || groups->empty()) {
      if (*mode == GroupMode::kFlattenedId) {
        v_.error("replica-groups", instruction,
                 "use_global_device_ids=true needs replica_groups that list devices");
        return;
      }
      check_group_size(instruction, *mode, id_count(*mode, mesh_));
      return;
    }
    // Many instructions share their groups.
    if (std::string wrong = good_.contains(groups) ? "" : groups->check(); !wrong.empty()) {
      v_.error("replica-groups", instruction, "replica_groups: {}", wrong);
      return;
    }
    good_.insert(groups);
    // The computed forms list 0 to n-1 in groups of one size; only lists need a look at each id.
    const bool listed =
        groups->form == DeviceGroups::Form::kLists ||
        (groups->form == DeviceGroups::Form::kMesh && !groups->mesh->device_ids.empty());
    const int64_t count = listed_id_count(*groups);
    std::optional<int64_t> largest = count - 1;
    if (listed) largest = check_lists(instruction, *groups, *mode, rules);
    if (!largest) return;
    check_count(instruction, count, *largest, *mode, rules);
    check_group_size(instruction, *mode, first_group_size(*groups));
  }

  // Looks at each id that is written, and returns the largest; nothing where groups are broken.
  std::optional<int64_t> check_lists(const Instruction* instruction, const DeviceGroups& groups,
                                     GroupMode mode, GroupRules rules) {
    const int64_t n = listed_id_count(groups);
    tsl::robin_set<int64_t, IntegerHash> seen;
    int64_t largest = 0;
    auto look_at = [&](int64_t id) {
      if (!seen.insert(id).second) {
        bad_groups(instruction, rules,
                   fmt::format("replica_groups lists {} {} twice", id_noun(mode), id));
        return false;
      }
      if (id < 0 || (id >= n && rules.listed_once)) {
        bad_groups(instruction, rules,
                   fmt::format("replica_groups lists {} id{}, so they must be 0 to {}, but {} is "
                               "among them",
                               n, n == 1 ? "" : "s", n - 1, id));
        return false;
      }
      largest = std::max(largest, id);
      return true;
    };
    if (groups.form == DeviceGroups::Form::kMesh) {
      for (int64_t id : groups.mesh->device_ids) {
        if (!look_at(id)) return std::nullopt;
      }
      return largest;
    }
    for (size_t i = 0; i < groups.lists.size(); ++i) {
      if (groups.lists[i].empty()) {
        bad_groups(instruction, rules, fmt::format("group {} of replica_groups is empty", i));
        return std::nullopt;
      }
      if (rules.uniform && groups.lists[i].size() != groups.lists[0].size()) {
        v_.error(
            "replica-groups", instruction,
            "group {} of replica_groups has {} member{}, group 0 has {}: those of {} must be of "
            "one size",
            i, groups.lists[i].size(), groups.lists[i].size() == 1 ? "" : "s",
            groups.lists[0].size(), to_string(instruction->opcode()));
        return std::nullopt;
      }
      for (int64_t id : groups.lists[i]) {
        if (!look_at(id)) return std::nullopt;
      }
    }
    return largest;
  }

  void check_count(const Instruction* instruction, int64_t listed, int64_t largest, GroupMode mode,
                   GroupRules rules) {
    const int64_t count = id_count(mode, mesh_);
    if (count == 1) {
      if (largest > 0) warn_of_mesh(instruction, "replica_groups", mode, largest);
    } else if (rules.listed_once && listed != count) {
      v_.error("replica-groups", instruction,
               "replica_groups lists {} {}{}, but the mesh of {} has {}", listed, id_noun(mode),
               listed == 1 ? "" : "s", mesh_text(), count);
    } else if (largest >= count) {
      bad_groups(instruction, rules,
                 fmt::format("replica_groups names {} {}, beyond the mesh of {}", id_noun(mode),
                             largest, mesh_text()));
    }
  }

  // 2 replicas and 1 partition
  std::string mesh_text() const {
    return fmt::format("{} replica{} and {} partition{}", mesh_.replicas,
                       mesh_.replicas == 1 ? "" : "s", mesh_.partitions,
                       mesh_.partitions == 1 ? "" : "s");
  }

  // XLA does not look at the groups of a collective-broadcast.
  void bad_groups(const Instruction* instruction, GroupRules rules, const std::string& wrong) {
    if (rules.listed_once) {
      v_.error("replica-groups", instruction, "{}", wrong);
    } else {
      v_.backend_error("replica-groups", instruction, "{}", wrong);
    }
  }

  // One warning a mode: a module that does not give its mesh does so in every collective.
  void warn_of_mesh(const Instruction* instruction, std::string_view attribute, GroupMode mode,
                    int64_t id) {
    bool& warned = warned_[static_cast<size_t>(mode)];
    if (warned) return;
    warned = true;
    v_.warning("unknown-mesh", instruction,
               "{} names {} {}, but the module gives 1 as their count or none: {} give{} the mesh",
               attribute, id_noun(mode), id, flags(mode),
               mode == GroupMode::kFlattenedId ? "" : "s");
  }

  // `ids` in a group, by the first one.
  void check_group_size(const Instruction* instruction, GroupMode mode, int64_t ids) {
    const int64_t size =
        mode == GroupMode::kCrossReplicaAndPartition ? ids * mesh_.partitions : ids;
    // A group of one may stand for a mesh that is not known.
    if (size == 1 || !v_.is_sound(instruction)) return;
    const Shape* operand =
        instruction->operand_count() > 0 ? instruction->operand(0)->shape() : nullptr;
    if (!operand || !operand->is_array()) return;
    std::span<const int64_t> dimensions = instruction->get(attr::dimensions);
    const bool has_dimension =
        dimensions.size() == 1 && dimensions[0] >= 0 && dimensions[0] < operand->rank();
    switch (instruction->opcode()) {
      case Opcode::kAllGather:
      case Opcode::kAllGatherStart:
      case Opcode::kReduceScatter:
        if (has_dimension) check_shards(instruction, dimensions[0], size);
        return;
      case Opcode::kAllToAll:
        if (!instruction->has(attr::dimensions)) {
          if (static_cast<int64_t>(instruction->operand_count()) != size) {
            v_.error("group-size", instruction,
                     "all-to-all without dimensions takes an operand for each of the {} members of "
                     "a group, not {}",
                     size, instruction->operand_count());
          }
        } else if (has_dimension) {
          const int64_t extent = operand->dim(dimensions[0]);
          if (extent != kUnboundedSize && extent % size != 0) {
            v_.error("group-size", instruction,
                     "dimension {} of %{} has a size of {}, which the {} members of a group can't "
                     "share",
                     dimensions[0], instruction->operand(0)->name(), extent, size);
          }
        }
        return;
      case Opcode::kRaggedAllToAll: {
        const Shape* offsets = instruction->operand(2)->shape();
        if (offsets->is_array() && offsets->rank() > 0 && offsets->dim(0) % size != 0) {
          v_.backend_error(
              "group-size", instruction,
              "%{} gives {} offsets, which is not the same number for each of the {} members "
              "of a group",
              instruction->operand(2)->name(), offsets->dim(0), size);
        }
        return;
      }
      default:
        return;
    }
  }

  // all-gather and reduce-scatter: the first result against the first operand.
  void check_shards(const Instruction* instruction, int64_t dimension, int64_t size) {
    const Shape* result = instruction->shape();
    if (instruction->opcode() == Opcode::kAllGatherStart) {
      if (!result->is_tuple() || result->elements().size() < 2) return;
      result = result->element(1);
    }
    if (result->is_tuple() && !result->elements().empty()) result = result->element(0);
    const Shape* operand = instruction->operand(0)->shape();
    if (!result->is_array() || result->rank() != operand->rank()) return;
    const bool gathers = instruction->opcode() != Opcode::kReduceScatter;
    const int64_t large = gathers ? result->dim(dimension) : operand->dim(dimension);
    const int64_t small = gathers ? operand->dim(dimension) : result->dim(dimension);
    if (large == kUnboundedSize || small == kUnboundedSize || small == 0) return;
    if (large / small + (large % small != 0) == size) return;
    v_.error("group-size", instruction,
             "dimension {} goes from {} to {}, but a group has {} members", dimension,
             operand->dim(dimension), result->dim(dimension), size);
  }

  // How often a permute may name a device as source, and as target: in place, once a slice, and
  // operand 2 gives the offset of each.
  int64_t times_allowed(const Instruction* instruction) const {
    if (!instruction->has(attr::permute_slice_sizes) || !v_.is_sound(instruction) ||
        instruction->operand_count() < 3) {
      return 1;
    }
    const Shape* offsets = instruction->operand(2)->shape();
    if (instruction->operand(0)->shape()->is_tuple() && !offsets->elements().empty()) {
      offsets = offsets->element(0);
    }
    return std::max<int64_t>(1, static_cast<int64_t>(offsets->elements().size()));
  }

  // Whether no device beyond the mesh is named, and none twice as source or as target.
  bool are_plain(std::span<const SourceTarget> pairs, int64_t count) {
    constexpr uint8_t kSource = 1, kTarget = 2;
    if (count > int64_t{1} << 20 || static_cast<int64_t>(pairs.size()) > count) return false;
    roles_.resize(static_cast<size_t>(count), 0);
    auto takes = [&](int64_t device, uint8_t role) {
      if (device < 0 || device >= count) return false;
      uint8_t& roles = roles_[static_cast<size_t>(device)];
      return (roles & role) == 0 && (roles |= role);
    };
    const bool plain = std::ranges::all_of(pairs, [&](const SourceTarget& pair) {
      return takes(pair.source, kSource) && takes(pair.target, kTarget);
    });
    // Only what was set: there may be few pairs, and many devices.
    for (const SourceTarget& pair : pairs) {
      for (int64_t device : {pair.source, pair.target}) {
        if (device >= 0 && device < count) roles_[static_cast<size_t>(device)] = 0;
      }
    }
    return plain;
  }

  void check_pairs(const Instruction* instruction) {
    auto mode = group_mode(*instruction);
    if (!mode) {
      v_.error("group-mode", instruction, "{}", mode.error());
      return;
    }
    const int64_t count = id_count(*mode, mesh_);
    if (are_plain(instruction->get(attr::source_target_pairs), count)) return;
    const int64_t allowed = times_allowed(instruction);
    const std::string times = allowed == 1 ? "once" : fmt::format("{} times", allowed);
    tsl::robin_map<int64_t, int64_t, IntegerHash> sources, targets;
    tsl::robin_set<int64_t, IntegerHash> beyond;
    for (const SourceTarget& pair : instruction->get(attr::source_target_pairs)) {
      for (int64_t id : {pair.source, pair.target}) {
        if (id >= 0 && id >= count && count == 1) {
          warn_of_mesh(instruction, "source_target_pairs", *mode, id);
        } else if ((id < 0 || id >= count) && beyond.insert(id).second) {
          v_.error("source-target-pairs", instruction,
                   "source_target_pairs names {} {}, beyond the mesh of {}", id_noun(*mode), id,
                   mesh_text());
        }
      }
      if (++sources[pair.source] == allowed + 1) {
        v_.error("source-target-pairs", instruction, "{} {} is a source more than {}",
                 id_noun(*mode), pair.source, times);
      }
      if (++targets[pair.target] == allowed + 1) {
        v_.error("source-target-pairs", instruction, "{} {} is a target more than {}",
                 id_noun(*mode), pair.target, times);
      }
    }
  }

  // XLA reads these pairs late and does not verify them, so this is no error.
  void check_send_recv(const Instruction* instruction) {
    if (instruction->get(attr::is_host_transfer)) return;
    if (!has_source_target_pairs(*instruction)) return;
    if (auto pairs = source_target_pairs(*instruction); !pairs) {
      v_.warning("source-target-pairs", instruction, "{}", pairs.error());
    }
  }

  // XLA takes from the computation only which reduction it is, and does not verify it.
  void check_combiner(const Instruction* instruction, const Computation* combiner) {
    if (!group_rules(instruction->opcode())) return;
    auto is_scalar = [](const Instruction* one) {
      return one && one->shape() && one->shape()->is_scalar();
    };
    std::span<Instruction* const> parameters = combiner->parameters();
    if (parameters.size() == 2 && is_scalar(parameters[0]) && is_scalar(parameters[1]) &&
        is_scalar(combiner->root())) {
      return;
    }
    v_.backend_error("reducer", instruction, "to_apply=%{} must take two scalars and return one",
                     combiner->name());
  }

  void check_all_reduce(const Instruction* instruction) {
    if (auto channel = instruction->find(attr::channel_id);
        channel && *channel <= 0 && instruction->opcode() == Opcode::kAllReduce) {
      v_.error("channel-id", instruction, "channel_id={} must be positive", *channel);
    }
    const bool constrains = instruction->get(attr::constrain_layout);
    const Instruction*& first = constrains ? constrained_ : unconstrained_;
    if (!first) first = instruction;
    if (constrained_ && unconstrained_ && !mixed_constraints_) {
      mixed_constraints_ = true;
      v_.error("constrain-layout", instruction,
               "all all-reduces of a module have constrain_layout=true or none: %{} has it, %{} "
               "has not",
               constrained_->name(), unconstrained_->name());
    }
  }

  Verification& v_;
  const Mesh mesh_;
  tsl::robin_set<const DeviceGroups*> good_;  // whose form was found to be sound
  std::vector<uint8_t> roles_;                // by device; all 0 between uses
  bool warned_[4] = {};
  const Instruction* constrained_ = nullptr;
  const Instruction* unconstrained_ = nullptr;
  bool mixed_constraints_ = false;
};

}  // namespace

void check_collectives(Verification& v) {
  // Starts are of the asynchronous family, send and receive have effects.
  constexpr Family kFamilies[] = {Family::kCollective, Family::kAsync, Family::kEffect};
  if (!v.mesh() || std::ranges::none_of(kFamilies, [&](Family f) { return v.uses(f); })) return;
  Collectives collectives(v);
  for (const Computation* computation : v.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      const Family family = info(instruction->opcode()).family;
      if (std::ranges::find(kFamilies, family) == std::end(kFamilies)) continue;
      collectives.check(instruction);
    }
  }
}

}  // namespace minihlo::verifier
