#include "passes/fused.h"

#include <algorithm>
#include <functional>

#include "passes/computations.h"
#include "passes/emitter.h"

namespace minihlo {
namespace {

bool is_removable(const Instruction& instruction) {
  switch (info(instruction.opcode()).family) {
    case Family::kEffect:
    case Family::kCollective:
    case Family::kAsync:
      return false;
    case Family::kRandom:
      return instruction.opcode() == Opcode::kRngBitGenerator;
    case Family::kCustom:
      return !instruction.get(attr::custom_call_has_side_effect);
    default:
      return instruction.opcode() != Opcode::kParameter && !instruction.calls_computations();
  }
}

// The value once more, as an instruction of its own.
Instruction* copied(Emitter& emit, Instruction* value) {
  if (!value->shape()->is_tuple()) return emit.make(Opcode::kCopy, {value}, {}, value->shape());
  std::vector<Instruction*> elements;
  for (size_t i = 0; i < value->shape()->elements().size(); ++i) {
    elements.push_back(emit.element(value, static_cast<int64_t>(i)));
  }
  return emit.make(Opcode::kTuple, elements, {}, value->shape());
}

// Removes what nobody uses but parameters, and marks all that is used.
std::vector<bool> remove_unused(Computation* computation) {
  std::span<Instruction* const> list = computation->instructions();
  std::vector<bool> used(list.size());
  std::vector<Instruction*> kept;
  for (size_t i = list.size(); i-- > 0;) {
    Instruction* at = list[i];
    if (at != computation->root() && !used[i] && is_removable(*at)) continue;
    kept.push_back(at);
    for (const Instruction* one : at->operands()) used[one->number()] = true;
    for (const Instruction* one : at->get(attr::control_predecessors)) used[one->number()] = true;
  }
  std::vector<bool> result;
  std::ranges::reverse(kept);
  for (const Instruction* one : kept) result.push_back(used[one->number()]);
  if (kept.size() != list.size()) computation->set_instructions(std::move(kept));
  return result;
}

// Makes a body valid. Returns which of its parameters stay; empty: all.
std::vector<bool> tidy_body(Computation* computation) {
  const std::vector<bool> used = remove_unused(computation);
  std::vector<bool> stays;
  for (const Instruction* parameter : computation->parameters()) {
    stays.push_back(parameter == computation->root() || used[parameter->number()]);
  }
  if (used[computation->root()->number()]) {
    Rewriter rewriter(computation);
    while (rewriter.next()) continue;
    Emitter emit(rewriter);
    Instruction* root = copied(emit, computation->root());
    rewriter.finish();
    computation->set_root(root);
  }
  if (std::ranges::all_of(stays, std::identity{})) return {};
  std::vector<Instruction*> kept;
  for (Instruction* one : computation->instructions()) {
    if (one->opcode() != Opcode::kParameter ||
        stays[static_cast<size_t>(one->get(attr::parameter_number))]) {
      kept.push_back(one);
    }
  }
  int64_t number = 0;
  for (Instruction* parameter : computation->parameters()) {
    if (stays[static_cast<size_t>(parameter->get(attr::parameter_number))]) {
      parameter->set(attr::parameter_number, number++);
    }
  }
  computation->set_instructions(std::move(kept));
  return stays;
}

// Gives fusions no operands for parameters that are gone.
void drop_operands(Computation* computation, const std::vector<std::vector<bool>>& stays) {
  Rewriter rewriter(computation);
  while (Instruction* at = rewriter.next()) {
    if (at->opcode() != Opcode::kFusion) continue;
    const std::vector<bool>& own = stays[at->get(attr::calls)->number()];
    if (own.empty()) continue;
    std::vector<Instruction*> operands;
    for (size_t i = 0; i < own.size(); ++i) {
      if (own[i]) operands.push_back(at->operand(i));
    }
    rewriter.replace(
        at, rewriter.emit(Opcode::kFusion, at->name(), at->shape(), operands, at->attributes()));
  }
  rewriter.finish();
}

}  // namespace

FusedBodies::FusedBodies(const Module& module) : is_fixed_(module.computations().size()) {
  // What calls a computation stands behind it.
  std::span<Computation* const> all = module.computations();
  for (size_t i = all.size(); i-- > 0;) {
    for (const Instruction* at : all[i]->instructions()) {
      if (at->opcode() != Opcode::kFusion) continue;
      if (is_fixed_[i] || at->has(attr::output_to_operand_aliasing)) {
        is_fixed_[at->get(attr::calls)->number()] = true;
      }
    }
  }
}

void finish_bodies(Module& module) {
  order_callees_first(module);
  std::vector<bool> is_fused(module.computations().size());
  for (const Computation* computation : module.computations()) {
    for (const Instruction* at : computation->instructions()) {
      if (at->opcode() == Opcode::kFusion) is_fused[at->get(attr::calls)->number()] = true;
    }
  }
  // By computation: which parameters stay; empty: all. What a fusion calls stands before it.
  std::vector<std::vector<bool>> stays(module.computations().size());
  for (Computation* computation : module.computations()) {
    drop_operands(computation, stays);
    const size_t number = computation->number();
    if (is_fused[number]) stays[number] = tidy_body(computation);
  }
}

}  // namespace minihlo
