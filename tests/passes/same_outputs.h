// What a pass makes of a module against the module itself: by running both, and by the prover.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/semantics/mesh.h"
#include "passes/pass.h"
#include "sim/prove/equivalence.h"

namespace minihlo::testing {

struct Outcome {
  std::vector<PassEntry> entries;
  std::string text;        // of the module that the pass made
  std::string difference;  // the first output whose bits differ in the run; empty: none
  prove::EquivalenceResult proof;

  bool all_rewritten() const;
};

/// Runs a pipeline on a module from text, whose header gives the mesh, and both modules on seeded
/// inputs. Fails the test where the pipeline, the verifier or a run finds fault. Without `prove`
/// there is no proof.
Outcome compare_outputs(std::string_view pipeline, std::string_view text, bool prove = true,
                        uint64_t seed = 1);

}  // namespace minihlo::testing
