// All cases of a campaign, by number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "passes/pipeline.h"
#include "tools/campaign/case.h"
#include "tools/campaign/expectation.h"
#include "tools/campaign/lists.h"
#include "tools/campaign/spec.h"

namespace minihlo::campaign {

/// What rewrites the module of a case.
struct Rewrite {
  std::string text;                  // as typed
  std::optional<Pipeline> pipeline;  // nothing: a shell command
};

/// Any case is made from the campaign and its number alone, so that shards begin anywhere.
class CaseSpace {
 public:
  /// Reads the lists of a campaign and its files. Error: what is wrong.
  static tl::expected<CaseSpace, std::string> make(const CampaignSpec& spec);

  int64_t size() const { return size_; }
  /// Requires a number below size().
  CampaignCase at(int64_t number) const;
  std::span<const Rewrite> rewrites() const { return rewrites_; }
  const CampaignSpec& spec() const { return spec_; }
  const Expectation& expectation() const { return expectation_; }
  /// Changes with what stands in the files that the campaign reads.
  uint64_t checksum() const { return checksum_; }

 private:
  // Permutations of some ids, in every combination.
  struct Exhaustive {
    int64_t ids;
    PartialPermutations permutations;
  };
  struct Listed {
    int64_t ids;
    Pairs pairs;
  };

  explicit CaseSpace(const CampaignSpec& spec) : spec_(spec) {}

  // Each says what is wrong, or nothing.
  std::string read_combinations();
  std::string read_rewrites();
  std::string read_sources();
  std::string read_random();
  std::string read_pairs(const std::string& given);
  std::string add_pairs(std::string_view text, const std::string& where);
  std::string check_mesh(int64_t ids) const;
  std::string add_cases(int64_t permutations);
  void combine(int64_t combination, CampaignCase& one) const;
  CampaignCase drawn(int64_t number) const;

  CampaignSpec spec_;
  Expectation expectation_;
  std::vector<GroupMode> modes_;
  CountRange other_, devices_;
  std::vector<ElementType> types_;
  std::vector<std::vector<int64_t>> shapes_;
  std::vector<size_t> forms_;
  std::vector<Rewrite> rewrites_;
  std::vector<const Kind*> kinds_;
  std::vector<int64_t> cycles_;
  std::vector<Exhaustive> exhaustive_;
  std::vector<Listed> listed_;
  int64_t combinations_ = 1;  // of a permutation: of modes, types, shapes, ...
  int64_t size_ = 0;
  uint64_t checksum_ = 0;
};

}  // namespace minihlo::campaign
