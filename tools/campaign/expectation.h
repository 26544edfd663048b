// What the cases of a campaign should come to.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "tools/campaign/case.h"
#include "tools/campaign/outcome.h"

namespace minihlo::campaign {

class Expectation {
 public:
  /// Reads a list of outcomes, "proved,tested", or the name of a closed form: "neuron-2.24". Error:
  /// what is wrong.
  static tl::expected<Expectation, std::string> parse(std::string_view text);

  bool meets(const CampaignCase& one, OutcomeKind kind) const;

 private:
  std::array<bool, kOutcomeCount> wanted_{};
  bool is_closed_form_ = false;
};

/// Whether collective-permute-to-all-gather{preset=neuron-2.24} leaves a module that computes what
/// the permute does (docs/neuron-preset.md). Requires pairs that are valid.
bool neuron_preset_is_right(const CampaignCase& one);

}  // namespace minihlo::campaign
