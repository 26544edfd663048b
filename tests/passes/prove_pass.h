// Runs a pass and asks the prover what it kept, for tests.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace minihlo::testing {

struct ProvedRun {
  std::vector<PassEntry> entries;
  std::string verdict;  // "proved", "tested", ...
  std::string reason;   // of the verdict
  std::string text;     // of what the pass left

  /// How many entries say that something was rewritten.
  int64_t rewritten() const;
};

/// Runs a pipeline over a module from text, which has to be valid, verifies what comes out, and
/// compares the two on the mesh of the header.
ProvedRun prove_pass(std::string_view pipeline, const std::string& text);

}  // namespace minihlo::testing
