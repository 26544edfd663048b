// Whether two modules compute the same on every device, for every input.
//
//   terms        both modules become terms over the inputs (term_domain.h)
//   comparison   output by output: the same term, the same elements, or the same element terms
//   refutation   else inputs are sought on which they differ (refute.h)
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "sim/prove/shared_inputs.h"
#include "sim/stop.h"

namespace minihlo::prove {

enum class Verdict : uint8_t {
  kProved,
  kProvedUpToRounding,
  kRefuted,
  kTested,
  kUnsupported,
  kInvalid,
};
std::string_view to_string(Verdict verdict);
/// The process's exit code for a verdict.
int exit_code(Verdict verdict);

struct EquivalenceOptions {
  Mesh mesh;
  SharedInputs shared;  // of either module: their parameters are alike
  bool bits = false;    // a difference by rounding refutes
  int tests = 20;       // random runs, where there is no proof
  uint64_t seed = 1;
  int64_t max_memory = 0;                // of a run; 0: the simulator's default
  int64_t max_steps = int64_t{1} << 24;  // of a walk on terms, and of a run
  std::optional<std::chrono::steady_clock::time_point> deadline;
};

/// One element of an input of a counterexample; all others are zero.
struct InputElement {
  int64_t device;
  int64_t parameter;  // leaf of the entry's parameters
  int64_t index;      // row-major
  std::string value;
};

struct Counterexample {
  // Where outputs differ; device -1: not in a value, but in what `report` tells.
  int64_t device = -1;
  int64_t output = 0;  // leaf of the result
  std::vector<int64_t> index;
  std::string output_shape;
  std::string values[2];
  std::string paths[2];  // where each value comes from
  std::string report;    // a deadlock or mismatch of one side
  int reported = 0;      // that side: 0 the first module, 1 the second
  std::vector<InputElement> inputs;
  std::string replay;  // "simulator" or "by demand"
};

struct EquivalenceResult {
  Verdict verdict = Verdict::kInvalid;
  std::string reason;                 // one sentence
  std::string unsupported;            // what was not understood
  std::set<std::string> rules;        // that the proof used
  std::set<std::string> relaxations;  // up to which it is proved
  std::vector<std::string> assumptions;
  std::optional<Counterexample> counterexample;
  int64_t tests = 0;    // random runs that were made
  int64_t outputs = 0;  // compared: leaves times devices
  int64_t terms = 0;
};

/// Compares two verified modules that share a shape pool. Their entry computations must take and
/// give the same shapes.
EquivalenceResult check_equivalence(const Module& before, const Module& after,
                                    const EquivalenceOptions& options);

}  // namespace minihlo::prove
