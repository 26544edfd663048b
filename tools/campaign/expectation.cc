#include "tools/campaign/expectation.h"

#include <algorithm>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "passes/permute_to_gather/options.h"
#include "tools/campaign/lists.h"

namespace minihlo::campaign {

tl::expected<Expectation, std::string> Expectation::parse(std::string_view text) {
  Expectation made;
  if (text == kNeuronPreset) {
    made.is_closed_form_ = true;
    return made;
  }
  std::vector<std::string_view> words;
  for (const OutcomeInfo& outcome : outcomes()) words.push_back(outcome.word);
  words.push_back(kNeuronPreset);
  for (std::string_view word : split_list(text)) {
    const std::optional<OutcomeKind> kind = outcome_from(word);
    if (!kind) {
      return tl::unexpected(word == kNeuronPreset ? fmt::format("'{}' stands alone", word)
                                                  : fmt::format("there is no outcome '{}'{}", word,
                                                                suggestion(word, words)));
    }
    made.wanted_[static_cast<size_t>(*kind)] = true;
  }
  return made;
}

bool Expectation::meets(const CampaignCase& one, OutcomeKind kind) const {
  if (!is_closed_form_) return wanted_[static_cast<size_t>(kind)];
  return kind == (neuron_preset_is_right(one) ? OutcomeKind::kProved : OutcomeKind::kRefuted);
}

bool neuron_preset_is_right(const CampaignCase& one) {
  // Nothing that could differ, or left alone.
  if (one.dims.empty() || std::ranges::count(one.dims, 0) > 0) return true;
  const bool is_full = static_cast<int64_t>(one.pairs.size()) == one.ids;
  if (one.mode == GroupMode::kCrossReplica) return one.other == 1 && is_full;
  const bool is_identity = is_full && std::ranges::all_of(one.pairs, [](const SourceTarget& pair) {
                             return pair.source == pair.target;
                           });
  return is_identity && (one.other == 1 || (one.ids == 1 && one.dims.size() == 1));
}

}  // namespace minihlo::campaign
