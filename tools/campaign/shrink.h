// Making a failing case small.
#pragma once

#include <atomic>
#include <optional>

#include "tools/campaign/case_space.h"
#include "tools/campaign/judge.h"
#include "tools/campaign/outcome.h"

namespace minihlo::campaign {

struct ShrunkCase {
  CampaignCase one;
  Outcome outcome;
};

/// A case with fewer pairs, fewer ids, a smaller mesh, shape or simpler type that is a failure of
/// the same kind. Nothing where none was found, or `stop` is set. It tries a bounded number of
/// cases, of external commands fewer, and of those that hang none.
std::optional<ShrunkCase> shrink(const CaseSpace& space, const Judge& judge,
                                 const CampaignCase& failing, OutcomeKind kind,
                                 const std::atomic<bool>* stop);

}  // namespace minihlo::campaign
