#include "tools/print_part.h"

#include <fmt/format.h>

#include <vector>

#include "ir/diagnostics.h"

namespace minihlo {
namespace {

std::string unknown(std::string_view what, std::string_view name,
                    const std::vector<std::string_view>& known) {
  return fmt::format("the module has no {} '{}'{}", what, name, suggestion(name, known));
}

void strip_percent(std::string_view& name) {
  if (name.starts_with('%')) name.remove_prefix(1);
}

// Which instructions of its computation are that near to `center`, by their numbers.
std::vector<bool> neighbourhood(const Instruction& center, int64_t hops) {
  const Computation& computation = *center.parent();
  std::vector<std::vector<const Instruction*>> next(computation.size());
  auto connect = [&](const Instruction* a, const Instruction* b) {
    next[a->number()].push_back(b);
    next[b->number()].push_back(a);
  };
  for (const Instruction* instruction : computation.instructions()) {
    for (const Instruction* operand : instruction->operands()) connect(instruction, operand);
    for (const Instruction* before : instruction->get(attr::control_predecessors)) {
      connect(instruction, before);
    }
  }
  std::vector<bool> near(computation.size());
  near[center.number()] = true;
  std::vector<const Instruction*> edge{&center};
  for (; hops > 0 && !edge.empty(); --hops) {
    std::vector<const Instruction*> reached;
    for (const Instruction* from : edge) {
      for (const Instruction* to : next[from->number()]) {
        if (near[to->number()]) continue;
        near[to->number()] = true;
        reached.push_back(to);
      }
    }
    edge = std::move(reached);
  }
  return near;
}

}  // namespace

std::string print_computation(const Module& module, std::string_view name,
                              const PrintOptions& options, std::string& text) {
  strip_percent(name);
  std::vector<std::string_view> known;
  for (const Computation* computation : module.computations()) {
    known.push_back(computation->name());
    if (computation->name() != name) continue;
    text = print_text(*computation, options) + '\n';
    return "";
  }
  return unknown("computation", name, known);
}

std::string print_around(const Module& module, std::string_view name, int64_t hops,
                         const PrintOptions& options, std::string& text) {
  strip_percent(name);
  const Instruction* center = nullptr;
  std::vector<std::string_view> known;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      known.push_back(instruction->name());
      if (instruction->name() == name) center = instruction;
    }
  }
  if (!center) return unknown("instruction", name, known);
  text = print_text(*center->parent(), options, neighbourhood(*center, hops)) + '\n';
  return "";
}

}  // namespace minihlo
