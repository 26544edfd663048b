#include "sim/plan.h"

#include <algorithm>

namespace minihlo {

Plan make_plan(const Computation& computation) {
  size_t count = computation.size();
  std::vector<std::vector<const Instruction*>> elements(count);
  auto is_drawn_up = [](const Instruction& instruction) {
    return instruction.opcode() == Opcode::kGetTupleElement &&
           !instruction.has(attr::control_predecessors);
  };
  std::vector<const Instruction*> order;
  order.reserve(count);
  for (const Instruction* instruction : computation.instructions()) {
    if (is_drawn_up(*instruction))
      elements[instruction->operand(0)->number()].push_back(instruction);
  }
  // Elements of elements follow at once too; a stack keeps that from being a recursion.
  std::vector<const Instruction*> pending;
  for (const Instruction* instruction : computation.instructions()) {
    if (is_drawn_up(*instruction)) continue;
    pending.push_back(instruction);
    while (!pending.empty()) {
      const Instruction* next = pending.back();
      pending.pop_back();
      order.push_back(next);
      const auto& drawn = elements[next->number()];
      pending.insert(pending.end(), drawn.rbegin(), drawn.rend());
    }
  }

  constexpr size_t kNever = SIZE_MAX;
  std::vector<size_t> last(count, kNever);
  for (size_t at = 0; at < order.size(); ++at) {
    last[order[at]->number()] = at;  // a value without readers goes at once
    for (const Instruction* operand : order[at]->operands()) last[operand->number()] = at;
  }
  last[computation.root()->number()] = kNever;

  Plan plan;
  plan.steps.reserve(order.size());
  for (size_t at = 0; at < order.size(); ++at) {
    const Instruction* instruction = order[at];
    Plan::Step step{instruction, {}, {}};
    for (const Instruction* operand : instruction->operands()) {
      bool is_last = last[operand->number()] == at;
      auto same =
          std::count(instruction->operands().begin(), instruction->operands().end(), operand);
      step.last_use.push_back(is_last && same == 1);
      if (is_last && (step.released.empty() || step.released.back() != operand->number())) {
        step.released.push_back(operand->number());
      }
    }
    if (last[instruction->number()] == at) step.released.push_back(instruction->number());
    plan.steps.push_back(std::move(step));
  }
  return plan;
}

}  // namespace minihlo
