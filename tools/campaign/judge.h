// What comes of one case: it is built, rewritten, verified, proved, and of a sample run.
#pragma once

#include <atomic>

#include "sim/run/simulator.h"
#include "tools/campaign/case_space.h"
#include "tools/campaign/outcome.h"

namespace minihlo::campaign {

/// Each case goes the ordinary way, in storage of its own; nothing is carried over from one to the
/// next. Threads may share a judge.
class Judge {
 public:
  /// `space` and `stop` must outlive it. Once `stop` is set external commands are ended, and what
  /// judge() then says counts for nothing.
  explicit Judge(const CaseSpace& space, const std::atomic<bool>* stop = nullptr)
      : space_(space), stop_(stop) {}

  Outcome judge(const CampaignCase& one) const;

 private:
  bool is_sampled(const CampaignCase& one) const;

  const CaseSpace& space_;
  const std::atomic<bool>* stop_;
};

/// What a run on seeded inputs shows against `before` being the module of the case, or against
/// `after` computing the same; or nothing. What can't be run shows nothing. Requires that both are
/// valid and take and give the same shapes.
std::string difference_in_run(const CampaignCase& one, const Module& before, const Module& after,
                              const RunOptions& options);

}  // namespace minihlo::campaign
