#include "sim/prove/equivalence.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/semantics/wrapped_collectives.h"
#include "sim/prove/element_terms.h"
#include "sim/prove/module_terms.h"
#include "sim/prove/precision.h"
#include "sim/prove/refute.h"

namespace minihlo::prove {
namespace {

// Elements of outputs that are compared one by one, as the last resort.
constexpr int64_t kMaxComparedElements = int64_t{1} << 20;
// Output elements for which inputs are sought that tell the two apart.
constexpr size_t kMaxCandidates = 16;

struct Candidate {
  OutputPlace place;
  Handle before, after;
};

struct Comparison {
  bool equal = true;
  std::vector<Candidate> candidates;
};

class Equivalence {
 public:
  Equivalence(const Module& before, const Module& after, const EquivalenceOptions& options)
      : before_(before),
        after_(after),
        options_(options),
        sees_nan_bits_(observes_nan_bits(before) || observes_nan_bits(after)),
        rules_(terms_, {sees_nan_bits_, true}),
        refuter_(before, after, options, terms_, evaluator_) {}

  EquivalenceResult run() {
    if (std::string wrong = misfit(); !wrong.empty()) {
      result_.verdict = Verdict::kInvalid;
      result_.reason = wrong;
      return std::move(result_);
    }
    result_.assumptions = options_.shared.sentences();
    // Each mode of loops tells more than the one before, and takes longer.
    Attempt attempt = compare_as(LoopMode::kTerms);
    for (LoopMode mode : {LoopMode::kTermsByUse, LoopMode::kWalked}) {
      if (attempt == Attempt::kUnequal && has_loops_) attempt = compare_as(mode);
    }
    if (attempt == Attempt::kEqual) {
      result_.verdict = Verdict::kProved;
      result_.reason = "each output element is the same term over the inputs in both modules";
      keep_rules(rules_, *before_terms_, *after_terms_);
    } else if (attempt != Attempt::kDecided && !equal_but_for_rounding()) {
      refute();
    }
    result_.terms = static_cast<int64_t>(terms_.node_count());
    return std::move(result_);
  }

 private:
  enum class Attempt { kEqual, kUnequal, kNoTerms, kDecided };

  // Why the modules can't be compared at all.
  std::string misfit() const {
    const Computation& a = *before_.entry();
    const Computation& b = *after_.entry();
    if (a.parameters().size() != b.parameters().size()) {
      return fmt::format("the first module takes {} parameters, the second {}",
                         a.parameters().size(), b.parameters().size());
    }
    for (size_t i = 0; i < a.parameters().size(); ++i) {
      const Shape* left = a.parameters()[i]->shape();
      const Shape* right = b.parameters()[i]->shape();
      if (!compatible(left, right)) {
        return fmt::format("parameter {} is {} in the first module, {} in the second", i,
                           minihlo::to_string(left, false), minihlo::to_string(right, false));
      }
    }
    if (!compatible(a.root()->shape(), b.root()->shape())) {
      return fmt::format("the result is {} in the first module, {} in the second",
                         minihlo::to_string(a.root()->shape(), false),
                         minihlo::to_string(b.root()->shape(), false));
    }
    return "";
  }

  Attempt compare_as(LoopMode mode) {
    rules_.clear();
    WalkLimits limits{options_.max_steps, options_.deadline};
    std::optional<ModuleTerms> both[2];
    std::optional<Stop> stops[2];
    const Module* modules[2] = {&before_, &after_};
    for (int side = 0; side < 2; ++side) {
      auto made = module_terms(*modules[side], options_.mesh, options_.shared, terms_, evaluator_,
                               rules_, mode, limits);
      if (made) {
        both[side] = *std::move(made);
      } else {
        stops[side] = std::move(made.error());
      }
    }
    if (std::optional<Attempt> decided = decide_stops(stops)) return *decided;
    if (!both[0] || !both[1]) {
      // The terms of an earlier attempt tell more than none.
      return before_terms_ ? Attempt::kUnequal : Attempt::kNoTerms;
    }
    has_loops_ = both[0]->has_loop_terms || both[1]->has_loop_terms;
    before_terms_ = std::move(both[0]);
    after_terms_ = std::move(both[1]);
    comparison_ = compare_outputs(terms_, rules_, *before_terms_, *after_terms_);
    return comparison_.equal ? Attempt::kEqual : Attempt::kUnequal;
  }

  // What follows from a walk that ended early.
  std::optional<Attempt> decide_stops(std::optional<Stop> (&stops)[2]) {
    auto ends_badly = [](const std::optional<Stop>& stop) { return stop && stop->is_of_devices(); };
    auto is = [&](Stop::Kind kind) {
      return (stops[0] && stops[0]->kind == kind) || (stops[1] && stops[1]->kind == kind);
    };
    if (is(Stop::Kind::kInvalid)) {
      const Stop& stop = stops[0] && stops[0]->kind == Stop::Kind::kInvalid ? *stops[0] : *stops[1];
      result_.verdict = Verdict::kInvalid;
      result_.reason = stop.message;
      return Attempt::kDecided;
    }
    if (ends_badly(stops[0]) && ends_badly(stops[1])) {
      result_.verdict = Verdict::kInvalid;
      result_.reason = "both modules fail alike: " + stops[0]->message;
      return Attempt::kDecided;
    }
    for (int side = 0; side < 2; ++side) {
      if (ends_badly(stops[side]) && !stops[1 - side]) {
        result_.verdict = Verdict::kRefuted;
        Counterexample made;
        made.report = fmt::format("the {} module ends in a {}", side == 0 ? "first" : "second",
                                  stops[side]->message);
        made.reported = side;
        made.replay = "on terms, for any input";
        result_.reason = fmt::format(
            "the {} module ends in a {}, the other does not", side == 0 ? "first" : "second",
            stops[side]->kind == Stop::Kind::kDeadlock ? "deadlock" : "mismatch");
        result_.counterexample = std::move(made);
        return Attempt::kDecided;
      }
      if (stops[side] && why_no_terms_.empty()) {
        why_no_terms_ = stops[side]->message;
        terms_cut_short_ = stops[side]->is_limit();
        what_no_terms_ = stops[side]->what;
      }
    }
    return std::nullopt;
  }

  // Whether the modules give the same terms where sums and products of floats may take their
  // terms in any order. Terms of their own, for rules that make others equal.
  bool equal_but_for_rounding() {
    if (options_.bits || !before_terms_ || !(may_round(before_) || may_round(after_))) return false;
    return equal_with({sees_nan_bits_, false, true}) || equal_with({sees_nan_bits_, false, false});
  }
  bool equal_with(const Precision& precision) {
    Terms terms;
    Rules rules(terms, precision);
    WalkLimits limits{options_.max_steps, options_.deadline};
    for (LoopMode mode : {LoopMode::kTerms, LoopMode::kTermsByUse, LoopMode::kWalked}) {
      rules.clear();
      auto before = module_terms(before_, options_.mesh, options_.shared, terms, evaluator_, rules,
                                 mode, limits);
      if (!before) return false;
      auto after = module_terms(after_, options_.mesh, options_.shared, terms, evaluator_, rules,
                                mode, limits);
      if (!after) return false;
      if (compare_outputs(terms, rules, *before, *after).equal) {
        // Where nothing is rounded in another order, a zero of another sign is a difference.
        const RuleNames& relaxed = rules.relaxations();
        if (relaxed.contains("signed-zero") && !relaxed.contains("reassociate") &&
            !relaxed.contains("contract") && !relaxed.contains("excess-precision")) {
          return false;
        }
        // Folds of constants alone are worked out in an order of their own, unnoticed.
        if (rules.relaxations().empty()) rules.relax("reassociate");
        result_.verdict = Verdict::kProvedUpToRounding;
        for (std::string_view relaxation : rules.relaxations()) {
          result_.relaxations.emplace(relaxation);
        }
        result_.reason = fmt::format(
            "each output element is the same term over the inputs in both modules, "
            "up to {}",
            fmt::join(result_.relaxations, ", "));
        keep_rules(rules, *before, *after);
        return true;
      }
      if (!before->has_loop_terms && !after->has_loop_terms) return false;
    }
    return false;
  }

  // What a proof used and assumed.
  void keep_rules(const Rules& rules, const ModuleTerms& before, const ModuleTerms& after) {
    result_.rules.insert(rules.used().begin(), rules.used().end());
    if (rules.used().contains("loop-induction")) result_.assumptions.push_back("every loop ends");
    std::set<std::string> assumptions = before.assumptions;
    assumptions.insert(after.assumptions.begin(), after.assumptions.end());
    result_.assumptions.insert(result_.assumptions.end(), assumptions.begin(), assumptions.end());
  }

  Comparison compare_outputs(Terms& terms, Rules& rules, const ModuleTerms& before,
                             const ModuleTerms& after) {
    Comparison comparison;
    std::optional<ElementTerms> elements;
    int64_t left = kMaxComparedElements;
    result_.outputs = 0;
    for (size_t output = 0; output < before.outputs.size(); ++output) {
      for (size_t device = 0; device < before.outputs[output].size(); ++device) {
        ++result_.outputs;
        Handle a = before.outputs[output][device];
        Handle b = after.outputs[output][device];
        if (a == b || terms.same_elements(a, b)) continue;
        OutputPlace place{static_cast<int64_t>(device), static_cast<int64_t>(output), 0};
        int64_t count = terms.node(a).count;
        const bool one_by_one = count <= left;
        if (one_by_one) left -= count;
        bool same = one_by_one;
        if (!elements) elements.emplace(terms, rules);
        for (int64_t i = 0; same && i < count; ++i) {
          std::optional<uint32_t> of_a = elements->element(a, i);
          std::optional<uint32_t> of_b = of_a ? elements->element(b, i) : std::nullopt;
          same = of_a && of_b && (*of_a == *of_b || elements->equal_by_cases(*of_a, *of_b));
          place.index = i;
        }
        if (same) {
          rules.use("element-terms");
          continue;
        }
        comparison.equal = false;
        if (!one_by_one) place.index = first_difference(terms, a, b);
        if (comparison.candidates.size() < kMaxCandidates) {
          comparison.candidates.push_back({place, a, b});
        }
      }
    }
    return comparison;
  }

  // The first element of the common refinement whose sources are not the same.
  static int64_t first_difference(const Terms& terms, Handle a, Handle b) {
    std::vector<int64_t> frame;
    auto boxes = overlay({terms.tensor(a), terms.tensor(b)}, frame);
    if (!boxes) return 0;
    for (const Overlay& box : *boxes) {
      if (box[0].source == box[1].source && box[0].offset == box[1].offset &&
          box[0].ranges == box[1].ranges) {
        continue;
      }
      // Ranges whose strides differ agree in their first element alone.
      bool at_corner = box[0].source == box[1].source && box[0].offset == box[1].offset;
      int64_t index = 0;
      for (size_t axis = 0; axis < frame.size(); ++axis) {
        const Range& left = box[0].ranges[axis];
        const Range& right = box[1].ranges[axis];
        bool move = at_corner && left.stride != right.stride;
        if (move) at_corner = false;
        index = index * frame[axis] + left.start + (move ? 1 : 0);
      }
      return index;
    }
    return 0;
  }

  void refute() {
    for (const Candidate& candidate : comparison_.candidates) {
      std::optional<Finding> found =
          refuter_.at_element(candidate.before, candidate.after, candidate.place);
      if (!found) continue;
      report(*std::move(found));
      return;
    }
    report(refuter_.by_runs(before_terms_ ? &*before_terms_ : nullptr,
                            after_terms_ ? &*after_terms_ : nullptr));
  }

  void report(Finding finding) {
    result_.tests = finding.runs;
    switch (finding.kind) {
      case Finding::Kind::kDifference:
        result_.verdict = Verdict::kRefuted;
        result_.reason = finding.counterexample.report.empty()
                             ? "the modules differ on the inputs of the counterexample"
                             : "one module fails on the inputs of the counterexample";
        result_.counterexample = std::move(finding.counterexample);
        return;
      case Finding::Kind::kBothStop:
        result_.verdict = Verdict::kInvalid;
        result_.reason = "both modules fail alike: " + finding.reason;
        return;
      case Finding::Kind::kCutShort:
        result_.verdict = Verdict::kTested;
        result_.reason = fmt::format(
            "no proof, and {}: {}",
            finding.runs == 0 ? "no random run came to its end"
                              : fmt::format("no difference in {} random runs", finding.runs),
            finding.reason);
        if (terms_cut_short_) return;
        break;
      case Finding::Kind::kUnsupported:
        if (terms_cut_short_) {
          result_.verdict = Verdict::kTested;
          result_.reason = "no proof, and no random runs: " + why_no_terms_;
          return;
        }
        result_.verdict = Verdict::kUnsupported;
        result_.unsupported = what_no_terms_.empty() ? finding.what : what_no_terms_;
        result_.reason = why_no_terms_.empty()
                             ? "no proof was found, and the modules can't be run: " + finding.reason
                             : why_no_terms_;
        return;
      case Finding::Kind::kRounding:
        result_.verdict = Verdict::kTested;
        result_.reason = fmt::format(
            "no proof; in {} random runs the modules differ by what may be the rounding of floats "
            "only",
            finding.runs);
        break;
      case Finding::Kind::kNone:
        result_.verdict = Verdict::kTested;
        result_.reason = fmt::format("no proof, and no difference in {} random runs", finding.runs);
        break;
    }
    if (!why_no_terms_.empty()) {
      result_.unsupported = what_no_terms_;
      result_.reason += fmt::format(" ({})", why_no_terms_);
    }
  }

  const Module& before_;
  const Module& after_;
  const EquivalenceOptions& options_;
  Terms terms_;
  Evaluator evaluator_;
  const bool sees_nan_bits_;
  Rules rules_;
  Refuter refuter_;
  bool has_loops_ = false;
  std::optional<ModuleTerms> before_terms_, after_terms_;
  Comparison comparison_;
  std::string why_no_terms_, what_no_terms_;
  bool terms_cut_short_ = false;  // there are none because of a limit
  EquivalenceResult result_;
};

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProved:
      return "proved";
    case Verdict::kProvedUpToRounding:
      return "proved-up-to-rounding";
    case Verdict::kRefuted:
      return "refuted";
    case Verdict::kTested:
      return "tested";
    case Verdict::kUnsupported:
      return "unsupported";
    case Verdict::kInvalid:
      return "invalid";
  }
  return "";
}

int exit_code(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProved:
      return 0;
    case Verdict::kRefuted:
      return 1;
    case Verdict::kProvedUpToRounding:
    case Verdict::kTested:
      return 3;
    case Verdict::kUnsupported:
      return 4;
    case Verdict::kInvalid:
      return 2;
  }
  return 2;
}

EquivalenceResult check_equivalence(const Module& before, const Module& after,
                                    const EquivalenceOptions& options) {
  // Wrapped collectives are compared as what they are.
  const Module* modules[] = {&before, &after};
  std::unique_ptr<Module> unwrapped[2];
  for (size_t i = 0; i < 2; ++i) {
    auto made = unwrapped_collectives(*modules[i]);
    if (!made) {
      EquivalenceResult result;
      result.verdict = Verdict::kInvalid;
      result.reason = made.error();
      return result;
    }
    unwrapped[i] = *std::move(made);
    if (unwrapped[i]) modules[i] = unwrapped[i].get();
  }
  return Equivalence(*modules[0], *modules[1], options).run();
}

}  // namespace minihlo::prove
