// One case of a campaign: a permute on a mesh, and what rewrites it.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ir/element_type.h"
#include "ir/module.h"
#include "ir/semantics/groups.h"
#include "ir/semantics/mesh.h"
#include "tools/campaign/permutations.h"

namespace minihlo::campaign {

struct CampaignCase {
  int64_t number = 0;  // in the campaign
  /// What the pairs name: replicas, or partitions; and how many of them there are. `other` is the
  /// count of the mesh's other axis.
  GroupMode mode = GroupMode::kCrossPartition;
  int64_t ids = 1;
  int64_t other = 1;
  Pairs pairs;
  ElementType type = ElementType::F32;
  std::vector<int64_t> dims;
  size_t rewrite = 0;  // place in the campaign's list

  Mesh mesh() const {
    return mode == GroupMode::kCrossReplica ? Mesh{ids, other} : Mesh{other, ids};
  }
};

/// A module whose entry permutes its parameter by the pairs. It need not be valid where the pairs
/// are not. Requires that the shape fits (ShapePool::try_array).
std::unique_ptr<Module> make_module(const CampaignCase& one);

}  // namespace minihlo::campaign
