// Random groups of devices, in all modes and forms.
#pragma once

#include "ir/semantics/groups.h"
#include "tests/generator/builder.h"

namespace minihlo::generator {

struct Groups {
  GroupMode mode = GroupMode::kCrossReplica;
  int64_t members = 1;  // devices in each group; of groups that differ in size, in the first
  std::vector<Attribute> attributes;  // replica_groups, channel_id, use_global_device_ids
};

/// Groups for a collective. Those of one that is not `uniform` may differ in size.
Groups random_groups(Builder& b, Opcode opcode, bool uniform = true);

/// source_target_pairs and channel_id of a collective-permute.
std::vector<Attribute> random_pairs(Builder& b);

/// Random factors that multiply to `product`, at least one.
std::vector<int64_t> factors(Choices& choices, int64_t product);

}  // namespace minihlo::generator
