#include <chrono>

#include <fmt/format.h>

#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "sim/prove/module_pair.h"
#include "tests/fuzz/modules.h"
#include "tests/fuzz/targets.h"

namespace minihlo::fuzz {
namespace {

using prove::Verdict;

// Inputs on which two modules that are proved to be equal are run.
constexpr int64_t kRuns = 4;

prove::EquivalenceOptions limits(const Mesh& mesh) {
  prove::EquivalenceOptions options;
  options.mesh = mesh;
  options.tests = 2;
  options.max_memory = int64_t{1} << 24;
  options.max_steps = 3000;
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  return options;
}

// What is wrong with the verdict on two modules, which are equal, or are not known to be.
std::string misjudged(const ValidModule& before, const Module& after, bool equal) {
  prove::EquivalenceOptions options = limits(before.mesh);
  const auto result = prove::check_equivalence(*before.module, after, options);
  const std::string_view verdict = prove::to_string(result.verdict);
  if (result.reason.empty()) return fmt::format("{} without a reason", verdict);
  if (equal && result.verdict == Verdict::kRefuted) return "refuted: " + result.reason;
  if (result.verdict != Verdict::kProved) return "";
  options = limits(before.mesh);
  const prove::ModulePair pair(*before.module, after, options);
  for (int64_t number = 0; number < kRuns && pair.fits(int64_t{1} << 22); ++number) {
    const tl::expected<Inputs, Stop> inputs = pair.random_inputs(number);
    if (!inputs) return "";
    const auto [first, second] = pair.run(*inputs);
    if (!first || !second) {
      // What is not understood may do nothing for a result, and be left out.
      for (const auto* alone : {&first, &second}) {
        if (first.has_value() == second.has_value() || *alone) continue;
        if (alone->error().is_of_devices()) return "proved, but " + alone->error().message;
      }
      return "";
    }
    if (const auto place = prove::difference(*first, *second)) {
      return fmt::format("proved, but on inputs {} device {} gives another output {} at {}", number,
                         place->device, place->output, place->index);
    }
  }
  return "";
}

std::string with(std::string wrong, const ValidModule& before, const Module& after) {
  if (wrong.empty()) return wrong;
  return fmt::format("{}\n{}\nagainst\n{}", wrong, print_text(*before.module), print_text(after));
}

// The module as a pipeline leaves it, against the module.
std::string misjudged_rewrite(const ValidModule& made, const std::string& passes) {
  Diagnostics diagnostics;
  const auto pipeline = parse_pipeline(Source::from_string("passes", passes), diagnostics);
  if (!pipeline) return diagnostics.to_string();
  const std::unique_ptr<Module> after = made.module->clone();
  PassContext context;
  context.replicas = made.mesh.replicas;
  context.partitions = made.mesh.partitions;
  if (auto done = run_pipeline(*after, *pipeline, context, true); !done) {
    return with(passes + ": " + done.error(), made, *after);
  }
  return with(misjudged(made, *after, true), made, *after);
}

}  // namespace

std::string equiv(std::string_view input) {
  const std::unique_ptr<ValidModule> made = valid_module(input);
  if (!made) return "";
  const std::unique_ptr<Module> clone = made->module->clone();
  if (std::string wrong = misjudged(*made, *clone, true); !wrong.empty()) {
    return with("its clone: " + wrong, *made, *clone);
  }
  for (const char* passes : {"collective-permute-to-all-gather{gate=always}", "dce"}) {
    if (std::string wrong = misjudged_rewrite(*made, passes); !wrong.empty()) return wrong;
  }
  // Another module that is much like it: one letter is another one.
  std::string changed(input);
  if (changed.size() < 2) return "";
  const size_t at = static_cast<uint8_t>(changed[0]) * changed.size() / 256;
  changed[at] = static_cast<char>(changed[at] + 1);
  const std::unique_ptr<ValidModule> other = valid_module(changed, made->module->shape_pool());
  if (!other || other->mesh != made->mesh) return "";
  return with(misjudged(*made, *other->module, false), *made, *other->module);
}

}  // namespace minihlo::fuzz
