// A whole module as terms.
#pragma once

#include <set>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/prove/shared_inputs.h"
#include "sim/prove/term_domain.h"

namespace minihlo::prove {

struct ModuleTerms {
  /// By leaf of the result, tokens left out: the term on each device.
  std::vector<std::vector<Handle>> outputs;
  bool has_loop_terms = false;
  std::set<std::string> assumptions;  // that have to hold
};

/// Runs the entry computation on terms: parameter leaf i of device d is the term (i, d).
tl::expected<ModuleTerms, Stop> module_terms(const Module& module, const Mesh& mesh,
                                             const SharedInputs& shared, Terms& terms,
                                             Evaluator& evaluator, Rules& rules, LoopMode mode,
                                             const WalkLimits& limits);

}  // namespace minihlo::prove
