#include "tests/passes/same_modules.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "ir/text/printer.h"

namespace minihlo::testing {
namespace {

// Operands before users, from the root on, in the order in which they are named.
std::vector<Instruction*> post_order(const Computation& computation) {
  std::vector<bool> seen(computation.size());
  std::vector<Instruction*> order;
  auto visit = [&](auto& self, Instruction* one) -> void {
    if (seen[one->number()]) return;
    seen[one->number()] = true;
    for (Instruction* operand : one->operands()) self(self, operand);
    for (Instruction* before : one->get(attr::control_predecessors)) self(self, before);
    order.push_back(one);
  };
  visit(visit, computation.root());
  for (Instruction* one : computation.instructions()) visit(visit, one);
  return order;
}

}  // namespace

std::string normalized_text(Module& module) {
  int64_t next = 0;
  for (Computation* computation : module.computations()) {
    std::vector<Instruction*> order = post_order(*computation);
    for (Instruction* one : order) {
      one->set_name(module.keep_name(fmt::format("v{}", next++)));
      if (one->has(attr::channel_id)) one->set(attr::channel_id, 1);
      if (!one->has(attr::source_target_pairs)) continue;
      std::span<const SourceTarget> pairs = one->get(attr::source_target_pairs);
      std::vector<SourceTarget> sorted(pairs.begin(), pairs.end());
      std::ranges::sort(sorted, {}, &SourceTarget::target);
      one->set(attr::source_target_pairs, module.arena().copy(sorted));
    }
    computation->set_instructions(std::move(order));
  }
  return print_text(module);
}

}  // namespace minihlo::testing
