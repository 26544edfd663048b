#include "tools/campaign/tally.h"

#include <utility>

namespace minihlo::campaign {

OutcomeCounts Tally::totals() const {
  OutcomeCounts sums{};
  for (const OutcomeCounts& own : by_rewrite) {
    for (size_t kind = 0; kind < kOutcomeCount; ++kind) {
      sums[kind].cases += own[kind].cases;
      sums[kind].failures += own[kind].failures;
    }
  }
  return sums;
}

int64_t Tally::failure_count() const {
  int64_t sum = 0;
  for (const OutcomeCount& count : totals()) sum += count.failures;
  return sum;
}

ExitCode Tally::exit_code() const {
  ExitCode worst = ExitCode::kOk;
  const OutcomeCounts counts = totals();
  for (const OutcomeInfo& outcome : outcomes()) {
    if (counts[static_cast<size_t>(outcome.kind)].failures == 0) continue;
    worst =
        worse(worst, outcome.exit_code == ExitCode::kOk ? ExitCode::kDiffers : outcome.exit_code);
  }
  return worst;
}

void Tally::add(const CampaignCase& one, const Outcome& outcome, bool is_expected, int64_t kept) {
  ++cases;
  rewritten += outcome.rewritten ? 1 : 0;
  simulated += outcome.simulated ? 1 : 0;
  OutcomeCount& count = by_rewrite[one.rewrite][static_cast<size_t>(outcome.kind)];
  ++count.cases;
  if (is_expected) return;
  ++count.failures;
  if (std::cmp_less(failures.size(), kept)) {
    failures.push_back(
        {one.number, one.rewrite, outcome.kind,
         outcome.reason.empty() ? std::string(info(outcome.kind).summary) : outcome.reason});
  }
}

void Tally::add(const Tally& next, int64_t kept) {
  cases += next.cases;
  rewritten += next.rewritten;
  simulated += next.simulated;
  for (size_t rewrite = 0; rewrite < by_rewrite.size(); ++rewrite) {
    for (size_t kind = 0; kind < kOutcomeCount; ++kind) {
      by_rewrite[rewrite][kind].cases += next.by_rewrite[rewrite][kind].cases;
      by_rewrite[rewrite][kind].failures += next.by_rewrite[rewrite][kind].failures;
    }
  }
  for (const Failure& failure : next.failures) {
    if (std::cmp_less(failures.size(), kept)) failures.push_back(failure);
  }
}

}  // namespace minihlo::campaign
