#include "passes/users.h"

#include <algorithm>

namespace minihlo {
namespace {

bool is_pure(const Instruction& instruction) {
  switch (info(instruction.opcode()).family) {
    case Family::kStructure:
      return instruction.opcode() != Opcode::kParameter &&
             instruction.opcode() != Opcode::kAfterAll;
    case Family::kIdentity:
    case Family::kElementwise:
    case Family::kMovement:
      return true;
    default:
      return false;
  }
}

}  // namespace

Users::Users(const Computation& computation)
    : root_(computation.root()),
      starts_(computation.size() + 1),
      first_waiting_(computation.size(), kNobody) {
  for (const Instruction* instruction : computation.instructions()) {
    for (const Instruction* operand : instruction->operands()) ++starts_[operand->number() + 1];
    for (const Instruction* one : instruction->get(attr::control_predecessors)) {
      uint32_t& first = first_waiting_[one->number()];
      first = std::min(first, instruction->number());
    }
  }
  for (size_t i = 1; i < starts_.size(); ++i) starts_[i] += starts_[i - 1];
  users_.resize(starts_.back());
  std::vector<size_t> next = starts_;
  for (Instruction* instruction : computation.instructions()) {
    for (const Instruction* operand : instruction->operands()) {
      users_[next[operand->number()]++] = instruction;
    }
  }
}

void remove_unused(Computation* computation, std::vector<Instruction*> candidates,
                   std::span<const Opcode> also) {
  std::span<Instruction* const> list = computation->instructions();
  std::vector<size_t> uses(list.size());
  if (computation->root()) ++uses[computation->root()->number()];
  for (const Instruction* instruction : list) {
    for (const Instruction* operand : instruction->operands()) ++uses[operand->number()];
    for (const Instruction* one : instruction->get(attr::control_predecessors)) {
      ++uses[one->number()];
    }
  }
  std::vector<bool> gone(list.size());
  while (!candidates.empty()) {
    const Instruction* one = candidates.back();
    candidates.pop_back();
    const uint32_t number = one->number();
    if (number >= list.size() || list[number] != one) continue;
    if (gone[number] || uses[number] > 0) continue;
    if (!is_pure(*one) && std::find(also.begin(), also.end(), one->opcode()) == also.end()) {
      continue;
    }
    gone[number] = true;
    for (Instruction* before : one->get(attr::control_predecessors)) {
      --uses[before->number()];
      candidates.push_back(before);
    }
    for (Instruction* operand : one->operands()) {
      --uses[operand->number()];
      candidates.push_back(operand);
    }
  }
  std::vector<Instruction*> kept;
  for (Instruction* instruction : list) {
    if (!gone[instruction->number()]) kept.push_back(instruction);
  }
  if (kept.size() < list.size()) computation->set_instructions(std::move(kept));
}

}  // namespace minihlo
