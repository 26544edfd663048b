// The search for inputs on which two modules differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/prove/demand.h"
#include "sim/prove/equivalence.h"
#include "sim/prove/module_terms.h"
#include "sim/run/simulator.h"

namespace minihlo::prove {

/// An output element.
struct OutputPlace {
  int64_t device;
  int64_t output;  // leaf
  int64_t index;   // row-major
};

/// What was found of a difference.
struct Finding {
  enum class Kind {
    kNone,         // nothing differs in any run
    kDifference,   // `counterexample`
    kRounding,     // only differences that are the rounding of float arithmetic
    kBothStop,     // both modules deadlock or mismatch; `reason`
    kCutShort,     // a limit ended the runs; `reason`
    kUnsupported,  // the modules can't be run; `reason`, `what`
  };
  Kind kind = Kind::kNone;
  Counterexample counterexample;
  std::string reason, what;
  int64_t runs = 0;
};

class Refuter {
 public:
  Refuter(const Module& before, const Module& after, const EquivalenceOptions& options,
          Terms& terms, Evaluator& evaluator);

  /// Inputs on which the terms of one output element differ, evaluated by demand, shrunk, and
  /// replayed by the simulator where the whole fits in memory.
  std::optional<Finding> at_element(Handle before, Handle after, const OutputPlace& place);

  /// Runs both modules on random inputs: values distinct by construction, then any bits, then
  /// special values. `terms` may be null.
  Finding by_runs(const ModuleTerms* before, const ModuleTerms* after);

  /// Where an element comes from, in words.
  std::string origin(Handle tensor, int64_t index) const;

 private:
  bool may_be_rounding(Handle before, Handle after, int64_t index, const SparseInputs& inputs,
                       const ElementBytes (&values)[2]);
  bool may_be_rounding(const Inputs& inputs, const OutputPlace& place,
                       const HostTensor* const (&outputs)[2]) const;
  tl::expected<RunResult, Stop> run(const Module& module, const Inputs& inputs) const;
  std::optional<OutputPlace> difference(const RunResult& before, const RunResult& after) const;
  /// The first element that differs when both are run; nothing when none does or a run stops.
  std::optional<OutputPlace> differs(const Inputs& inputs, RunResult* results = nullptr) const;
  Inputs shrunk(Inputs inputs) const;
  Inputs dense(const SparseInputs& sparse) const;
  std::optional<Inputs> random_inputs(int64_t number) const;
  bool fits(int64_t bytes) const;
  void list_inputs(const Inputs& inputs, Counterexample& counterexample) const;
  Counterexample describe(const OutputPlace& place) const;
  std::string tensor_index(const Shape* shape, int64_t index) const;

  const Module& before_;
  const Module& after_;
  const EquivalenceOptions& options_;
  Terms& terms_;
  Evaluator& evaluator_;
  std::vector<const Shape*> parameter_shapes_;  // array leaves
  std::vector<std::string> parameter_names_;
  std::vector<const Shape*> output_shapes_;
};

}  // namespace minihlo::prove
