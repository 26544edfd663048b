// The search for inputs on which two modules differ.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/prove/demand.h"
#include "sim/prove/equivalence.h"
#include "sim/prove/module_pair.h"
#include "sim/prove/module_terms.h"

namespace minihlo::prove {

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
  // Whether the difference of two float elements may be rounding; nothing where it can't be told.
  std::optional<bool> may_be_rounding(Handle before, Handle after, int64_t index,
                                      const SparseInputs& inputs, const ElementBytes (&values)[2]);
  void list_inputs(const Inputs& inputs, Counterexample& counterexample) const;
  Counterexample describe(const OutputPlace& place) const;
  void add_constants(const Instruction& instruction);
  std::string tensor_index(const Shape* shape, int64_t index) const;

  const ModulePair pair_;
  const EquivalenceOptions& options_;
  Terms& terms_;
  Evaluator& evaluator_;
  std::vector<std::string> parameter_names_;                              // of array leaves
  std::unordered_map<ElementType, std::vector<ElementBytes>> constants_;  // of both modules
};

}  // namespace minihlo::prove
