// What cases came to, counted.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tools/campaign/case.h"
#include "tools/campaign/outcome.h"

namespace minihlo::campaign {

/// An outcome that was not expected.
struct Failure {
  int64_t number;  // of the case
  size_t rewrite;  // its place in the campaign's list
  OutcomeKind kind;
  std::string reason;
};

struct OutcomeCount {
  int64_t cases = 0;
  int64_t failures = 0;  // of these
};
using OutcomeCounts = std::array<OutcomeCount, kOutcomeCount>;  // by kind

struct Tally {
  int64_t cases = 0, rewritten = 0, simulated = 0;
  std::vector<OutcomeCounts> by_rewrite;
  std::vector<Failure> failures;  // the first ones, in order

  explicit Tally(size_t rewrites = 0) : by_rewrite(rewrites) {}

  OutcomeCounts totals() const;
  int64_t failure_count() const;
  /// Of all outcomes that were not expected the worst one's; 1 where it would be 0.
  ExitCode exit_code() const;

  /// Adds a case. Of the failures the first `kept` are kept.
  void add(const CampaignCase& one, const Outcome& outcome, bool is_expected, int64_t kept);
  /// Adds what comes behind.
  void add(const Tally& next, int64_t kept);
};

}  // namespace minihlo::campaign
