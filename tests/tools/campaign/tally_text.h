// All of a campaign's result as text, to compare results.
#pragma once

#include <string>

#include <fmt/format.h>

#include "tools/campaign/tally.h"

namespace minihlo::campaign {

inline std::string text_of(const Tally& tally) {
  std::string text = fmt::format("{} {} {}", tally.cases, tally.rewritten, tally.simulated);
  for (const OutcomeCounts& counts : tally.by_rewrite) {
    for (const OutcomeCount& count : counts) {
      text += fmt::format(" {}/{}", count.failures, count.cases);
    }
  }
  for (const Failure& failure : tally.failures) {
    text += fmt::format("\n{} {} {} {}", failure.number, failure.rewrite, info(failure.kind).word,
                        failure.reason);
  }
  return text;
}

}  // namespace minihlo::campaign
