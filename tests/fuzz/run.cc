#include "sim/run/simulator.h"

#include <chrono>

#include <fmt/format.h>

#include "ir/semantics/wrapped_collectives.h"
#include "sim/cost/memory.h"
#include "tests/fuzz/modules.h"
#include "tests/fuzz/targets.h"

namespace minihlo::fuzz {
namespace {

RunOptions limits() {
  RunOptions options;
  options.max_steps = 3000;
  options.max_memory = int64_t{1} << 24;
  options.deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  options.threads = 1;
  options.elided = ElidedConstants::kSeed;
  options.custom_calls = {{"*", CustomCallRule::Action::kIdentity}};
  return options;
}

std::string compared(const std::vector<std::vector<HostTensor>>& first,
                     const std::vector<std::vector<HostTensor>>& second) {
  if (first.size() != second.size()) return "two runs give results of different devices";
  for (size_t device = 0; device < first.size(); ++device) {
    if (first[device].size() != second[device].size()) return "two runs give different leaves";
    for (size_t leaf = 0; leaf < first[device].size(); ++leaf) {
      const Difference difference =
          compare(first[device][leaf], second[device][leaf], {.nan_payload = true});
      if (difference.what.empty() && difference.count == 0) continue;
      return fmt::format("two runs differ on device {} in leaf {} at {}{}", device, leaf,
                         difference.index, difference.what);
    }
  }
  return "";
}

}  // namespace

std::string run(std::string_view input) {
  const std::unique_ptr<ValidModule> made = valid_module(input);
  if (!made) return "";
  const Mesh& mesh = made->mesh;
  auto unwrapped = unwrapped_collectives(*made->module);
  if (!unwrapped) return unwrapped.error().empty() ? "refused without a message" : "";
  const Module& module = *unwrapped ? **unwrapped : *made->module;

  RunOptions options = limits();
  const auto inputs =
      make_inputs(module, mesh, 1, options.max_memory, options.threads, options.deadline);
  if (!inputs) return inputs.error().message.empty() ? "no inputs, and no message" : "";
  const auto predicted = predict_memory(module, mesh, options.cluster_elements);
  if (!predicted && predicted.error().message.empty()) return "no prediction, and no message";

  options.cluster_elements = std::numeric_limits<int64_t>::max();
  const auto apart = simulate(module, mesh, *inputs, options);
  NanCheck check(mesh);
  options.observer = &check;
  const auto checked = simulate(module, mesh, *inputs, options);
  options = limits();
  options.threads = 2;
  options.cluster_elements = 1;
  const auto together = simulate(module, mesh, *inputs, options);
  for (const auto* result : {&apart, &checked, &together}) {
    if (!*result && result->error().message.empty()) return "stopped without a message";
  }
  if ((!apart && is_of_limits(apart.error())) || (!together && is_of_limits(together.error()))) {
    return "";
  }
  if (apart.has_value() != together.has_value() ||
      (!apart && apart.error().kind != together.error().kind)) {
    return fmt::format("two runs end differently:\n{}\n{}",
                       apart ? "with results" : apart.error().message,
                       together ? "with results" : together.error().message);
  }
  if (!apart) return "";
  std::string wrong = compared(apart->outputs, together->outputs);
  return wrong.empty() ? compared(apart->outfeed, together->outfeed) : wrong;
}

}  // namespace minihlo::fuzz
