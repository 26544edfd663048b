#include "tools/campaign/outcome.h"

#include <algorithm>

namespace minihlo::campaign {
namespace {

constexpr OutcomeInfo kOutcomes[] = {
    {OutcomeKind::kProved, "proved", ExitCode::kOk, "equal for every input"},
    {OutcomeKind::kTested, "tested", ExitCode::kUndecided, "no proof, and no difference in runs"},
    {OutcomeKind::kUnsupported, "unsupported", ExitCode::kUnsupported,
     "something was not understood"},
    {OutcomeKind::kTimedOut, "timed-out", ExitCode::kUndecided,
     "the external command, or the case, took too long"},
    {OutcomeKind::kInvalid, "invalid", ExitCode::kInvalid,
     "what comes back is no valid module, or the pass refuses"},
    {OutcomeKind::kChanged, "changed", ExitCode::kDiffers,
     "what comes back is not the module that was given"},
    {OutcomeKind::kCrashed, "crashed", ExitCode::kDiffers, "the external command failed"},
    {OutcomeKind::kRefuted, "refuted", ExitCode::kDiffers, "they differ on some input"},
    {OutcomeKind::kContradicted, "contradicted", ExitCode::kDiffers,
     "a run shows a difference that the prover did not see"},
};
static_assert(std::size(kOutcomes) == kOutcomeCount);

}  // namespace

std::span<const OutcomeInfo> outcomes() { return kOutcomes; }

const OutcomeInfo& info(OutcomeKind kind) { return kOutcomes[static_cast<size_t>(kind)]; }

std::optional<OutcomeKind> outcome_from(std::string_view word) {
  const OutcomeInfo* found = std::ranges::find(kOutcomes, word, &OutcomeInfo::word);
  if (found == std::end(kOutcomes)) return std::nullopt;
  return found->kind;
}

}  // namespace minihlo::campaign
