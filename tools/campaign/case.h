// One case of a campaign: a permute on a mesh, in a module of some form, and what rewrites it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/element_type.h"
#include "ir/module.h"
#include "ir/semantics/groups.h"
#include "ir/semantics/mesh.h"
#include "tools/campaign/permutations.h"

namespace minihlo::campaign {

/// How a module holds its permute.
struct Form {
  std::string_view name;
  std::string_view summary;  // for help
  int operands;              // parameters of the module, and leaves of its result
  int hops;                  // how often each is sent along the pairs
  /// HLO text behind the header, where $T stands for the shape of an operand and $P for what a
  /// permute says of its pairs.
  std::string_view text;
};
std::span<const Form> forms();

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
  size_t form = 0;     // place in forms()
  size_t rewrite = 0;  // place in the campaign's list

  Mesh mesh() const {
    return mode == GroupMode::kCrossReplica ? Mesh{ids, other} : Mesh{other, ids};
  }
};

/// The module as HLO text.
std::string module_text(const CampaignCase& one);
/// The module that the text is of. It need not be valid where the pairs are not. Requires that the
/// shape fits (ShapePool::try_array).
std::unique_ptr<Module> make_module(const CampaignCase& one);

}  // namespace minihlo::campaign
