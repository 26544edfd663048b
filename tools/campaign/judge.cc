#include "tools/campaign/judge.h"

#include <chrono>
#include <new>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/text/printer.h"
#include "ir/verifier.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "sim/prove/module_pair.h"
#include "sim/run/simulator.h"
#include "sim/walk.h"
#include "tools/campaign/external.h"

namespace minihlo::campaign {
namespace {

using prove::EquivalenceResult;
using prove::Verdict;
using std::chrono::steady_clock;

constexpr double kDefaultExternalSeconds = 60;

OutcomeKind kind_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kProved:
      return OutcomeKind::kProved;
    case Verdict::kRefuted:
      return OutcomeKind::kRefuted;
    case Verdict::kProvedUpToRounding:
    case Verdict::kTested:
      return OutcomeKind::kTested;
    case Verdict::kUnsupported:
      return OutcomeKind::kUnsupported;
    case Verdict::kInvalid:
      return OutcomeKind::kInvalid;
  }
  return OutcomeKind::kInvalid;
}

std::string one_line(std::string_view text) {
  std::string line(text.substr(0, text.find_last_not_of(" \n") + 1));
  for (size_t at = line.find('\n'); at != line.npos; at = line.find('\n', at)) {
    const char* between = at > 0 && line[at - 1] == ':' ? " " : "; ";
    line.replace(at, std::min(line.find_first_not_of(" \n", at), line.size()) - at, between);
  }
  return line;
}

std::string reason_of(const EquivalenceResult& result, const Mesh& mesh) {
  if (result.verdict == Verdict::kProved) return "";
  if (!result.counterexample) return one_line(result.reason);
  const prove::Counterexample& found = *result.counterexample;
  if (!found.report.empty()) return one_line(found.report);
  return fmt::format("{}, output {}, index [{}]: {} before, {} after",
                     device_name(mesh, found.device), found.output, fmt::join(found.index, ","),
                     found.values[0], found.values[1]);
}

// The module as text that names, channel numbers and the order of pairs do not change.
std::string normal_form(const Module& module) {
  const std::unique_ptr<Module> copy = module.clone();
  for (Computation* computation : copy->computations()) {
    for (Instruction* instruction : computation->instructions()) {
      if (instruction->has(attr::channel_id)) instruction->set(attr::channel_id, 1);
      const std::span<const SourceTarget> given = instruction->get(attr::source_target_pairs);
      Pairs pairs(given.begin(), given.end());
      std::ranges::sort(pairs, {}, &SourceTarget::target);
      if (!pairs.empty()) instruction->set(attr::source_target_pairs, copy->arena().copy(pairs));
    }
  }
  return print_text(*copy, PrintOptions::canonical());
}

// The device whose operand the pairs send to `device`, or -1, worked out from what a permute means.
int64_t source_of(const CampaignCase& one, int64_t device) {
  const Mesh mesh = one.mesh();
  const bool of_replicas = one.mode == GroupMode::kCrossReplica;
  const int64_t own = of_replicas ? mesh.replica(device) : mesh.partition(device);
  for (const SourceTarget& pair : one.pairs) {
    if (pair.target != own) continue;
    return of_replicas ? mesh.flattened(pair.source, mesh.partition(device))
                       : mesh.flattened(mesh.replica(device), pair.source);
  }
  return -1;
}

// What is wrong with the outputs of a case's module, or nothing.
std::string wrong_outputs(const CampaignCase& one, const Inputs& inputs, const RunResult& result) {
  const Form& form = forms()[one.form];
  for (size_t device = 0; device < result.outputs.size(); ++device) {
    auto source = static_cast<int64_t>(device);
    for (int hop = 0; hop < form.hops && source >= 0; ++hop) source = source_of(one, source);
    for (size_t leaf = 0; leaf < static_cast<size_t>(form.operands); ++leaf) {
      const HostTensor& output = result.outputs[device][leaf];
      std::string_view wrong;
      if (source < 0) {
        const std::span bytes(output.data.get(), static_cast<size_t>(output.bytes));
        if (std::ranges::any_of(bytes, [](std::byte byte) { return byte != std::byte{0}; })) {
          wrong = "zeros";
        }
      } else if (compare(inputs[static_cast<size_t>(source)][leaf], output, {}).count > 0) {
        wrong = "what the pairs send to it";
      }
      if (wrong.empty()) continue;
      return fmt::format("run by the simulator, the permute does not give {} {}",
                         device_name(one.mesh(), static_cast<int64_t>(device)), wrong);
    }
  }
  return "";
}

}  // namespace

std::string difference_in_run(const CampaignCase& one, const Module& before, const Module& after,
                              const RunOptions& options) {
  const Mesh mesh = one.mesh();
  const int64_t memory = options.max_memory > 0 ? options.max_memory : default_max_memory();
  auto inputs = make_inputs(before, mesh, options.seed, memory, 1, options.deadline);
  if (!inputs) return "";
  auto of_before = simulate(before, mesh, *inputs, options);
  auto of_after = simulate(after, mesh, *inputs, options);
  if (!of_before || !of_after) {
    const auto& stopped = of_before ? of_after : of_before;
    return stopped.error().is_of_devices() ? one_line(stopped.error().message) : "";
  }
  if (std::string wrong = wrong_outputs(one, *inputs, *of_before); !wrong.empty()) return wrong;
  const std::optional<prove::OutputPlace> place = prove::difference(*of_before, *of_after);
  if (!place) return "";
  return fmt::format("run by the simulator, the modules differ on {}, element {}",
                     device_name(mesh, place->device), place->index);
}

bool Judge::is_sampled(const CampaignCase& one) const {
  const auto rate = static_cast<uint64_t>(space_.spec().simulate);
  if (rate == 0) return false;
  return Random(space_.spec().seed, static_cast<uint64_t>(one.number)).next() % rate == 0;
}

Outcome Judge::judge(const CampaignCase& one) const try {
  const CampaignSpec& spec = space_.spec();
  const Mesh mesh = one.mesh();
  Outcome outcome;
  auto fail = [&](OutcomeKind kind, std::string_view reason) {
    outcome.kind = kind;
    outcome.reason = one_line(reason);
    return outcome;
  };
  const std::unique_ptr<Module> before = make_module(one);
  if (!before) return fail(OutcomeKind::kInvalid, "the case itself can't be read");
  std::unique_ptr<Module> after;
  const Rewrite& rewrite = space_.rewrites()[one.rewrite];
  if (rewrite.pipeline) {
    after = before->clone();
    PassContext context;
    auto done = run_pipeline(*after, *rewrite.pipeline, context, true);
    if (!done) return fail(OutcomeKind::kInvalid, done.error());
    outcome.rewritten = std::ranges::any_of(context.entries,
                                            [](const PassEntry& entry) { return entry.rewritten; });
  } else {
    auto check = [&](const Module& module, Diagnostics& diagnostics) {
      verify(module, {mesh.replicas, mesh.partitions}, diagnostics);
      return first_error(diagnostics);
    };
    Diagnostics diagnostics;
    if (std::string wrong = check(*before, diagnostics); !wrong.empty()) {
      return fail(OutcomeKind::kInvalid, "the case itself is not valid: " + wrong);
    }
    const double seconds = spec.case_timeout > 0 ? spec.case_timeout : kDefaultExternalSeconds;
    ExternalResult result = run_external(rewrite.text, module_text(one), before->shape_pool(),
                                         {seconds, spec.case_memory, stop_});
    if (result.kind != OutcomeKind::kProved) return fail(result.kind, result.reason);
    if (std::string wrong = check(*result.file.module, result.file.diagnostics); !wrong.empty()) {
      return fail(OutcomeKind::kInvalid, "what the command wrote is not valid: " + wrong);
    }
    outcome.rewritten = result.changed;
    after = std::move(result.file.module);
  }

  prove::EquivalenceOptions options;
  options.mesh = mesh;
  options.tests = static_cast<int>(std::min<int64_t>(spec.tests, 1000000));
  options.seed = spec.seed;
  // Passes that say that they keep bits are held to that.
  options.bits =
      rewrite.pipeline && std::ranges::all_of(*rewrite.pipeline, [](const PassCall& call) {
        return call.info->keeps == Keeps::kBits;
      });
  if (spec.case_timeout > 0) {
    options.deadline =
        steady_clock::now() +
        std::chrono::microseconds(static_cast<int64_t>(std::min(spec.case_timeout, 1e9) * 1e6));
  }
  const EquivalenceResult result = prove::check_equivalence(*before, *after, options);
  outcome.kind = kind_of(result.verdict);
  outcome.reason = reason_of(result, mesh);
  if (result.verdict != Verdict::kRefuted && result.verdict != Verdict::kProved &&
      options.deadline && steady_clock::now() > *options.deadline) {
    return fail(OutcomeKind::kTimedOut, fmt::format("no verdict after {} s", spec.case_timeout));
  }
  if (result.verdict == Verdict::kProved && is_sampled(one)) {
    RunOptions run;
    run.deadline = options.deadline;
    run.threads = 1;
    run.seed = spec.seed;
    run.pure = true;
    outcome.simulated = true;
    const std::string difference = difference_in_run(one, *before, *after, run);
    if (!difference.empty()) return fail(OutcomeKind::kContradicted, difference);
  }
  if (result.verdict == Verdict::kProved && spec.gives_back &&
      normal_form(*before) != normal_form(*after)) {
    return fail(OutcomeKind::kChanged,
                "it computes the same, but is not the module that was given");
  }
  return outcome;
} catch (const std::bad_alloc&) {
  return {OutcomeKind::kUnsupported, "out of memory"};
} catch (const std::exception& error) {
  return {OutcomeKind::kUnsupported, one_line(error.what())};
}

}  // namespace minihlo::campaign
