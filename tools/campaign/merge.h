// One report of the journals of all shards.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "tools/campaign/journal.h"
#include "tools/campaign/spec.h"

namespace minihlo::campaign {

class Merge {
 public:
  /// Opens journals, one a shard, in any order. Error: what is wrong, or which shard is missing.
  static tl::expected<Merge, std::string> open(const std::vector<std::string>& paths);

  /// The campaign that they are of.
  const CampaignSpec& spec() const { return spec_; }
  /// Adds up all blocks in their order. Requires the space of spec(). Returns what is wrong, or
  /// nothing.
  std::string add_to(const CaseSpace& space, Results& results);

 private:
  CampaignSpec spec_;
  std::vector<std::string> paths_;      // by shard
  std::vector<JournalReader> readers_;  // by shard
};

}  // namespace minihlo::campaign
