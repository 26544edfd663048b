#include "passes/effects.h"

#include <algorithm>

#include "ir/async_pairs.h"
#include "ir/semantics/collective_forms.h"

namespace minihlo {
namespace {

bool is_plain(const Shape* shape) {
  if (shape->is_array()) return true;
  return shape->is_tuple() && std::ranges::all_of(shape->elements(), is_plain);
}

// Purity of the opcode, apart from what it calls.
bool is_pure_opcode(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
      return false;
    default:
      break;
  }
  switch (info(instruction.opcode()).family) {
    case Family::kCollective:
    case Family::kAsync:
    case Family::kEffect:
    case Family::kCustom:
      return false;
    default:
      return true;
  }
}

}  // namespace

bool has_own_effect(const Instruction& instruction, bool is_partitioned) {
  switch (instruction.opcode()) {
    case Opcode::kParameter:
    case Opcode::kRng:
    case Opcode::kRngGetAndUpdateState:
    case Opcode::kAllGatherStart:
    case Opcode::kAllGatherDone:
    case Opcode::kAllReduceStart:
    case Opcode::kAllReduceDone:
    case Opcode::kCollectivePermuteStart:
    case Opcode::kCollectivePermuteDone:
    case Opcode::kCollectiveBroadcast:
      return true;
    case Opcode::kCustomCall:
      return instruction.get(attr::custom_call_has_side_effect);
    default:
      break;
  }
  switch (info(instruction.opcode()).family) {
    case Family::kEffect:
      return true;
    case Family::kCollective:
      return instruction.get(attr::constrain_layout) ||
             (instruction.has(attr::channel_id) && !is_partitioned);
    default:
      return false;
  }
}

bool is_exchange(const Instruction& instruction) {
  return is_collective(instruction.opcode()) || instruction.opcode() == Opcode::kSend;
}

Effects::Effects(const Module& module, bool is_partitioned)
    : is_partitioned_(is_partitioned),
      is_pure_(module.computations().size(), true),
      has_effect_(module.computations().size()),
      runs_together_(module.computations().size(), true),
      is_asynchronous_(module.computations().size()) {
  for (const Computation* computation : module.computations()) look_into(*computation);
  // Callers stand behind what they call, so one sweep back knows of all of them.
  std::span<Computation* const> all = module.computations();
  for (size_t i = all.size(); i-- > 0;) {
    for (const Instruction* instruction : all[i]->instructions()) {
      const bool together = runs_together_[i] && instruction->opcode() == Opcode::kCall;
      const bool asynchronous = is_asynchronous_[i] || instruction->opcode() == Opcode::kAsyncStart;
      for (const Computation* called : instruction->called_computations()) {
        if (!together) runs_together_[called->number()] = false;
        if (asynchronous) is_asynchronous_[called->number()] = true;
      }
    }
  }
}

void Effects::look_into(const Computation& computation) {
  const size_t number = computation.number();
  for (const Instruction* instruction : computation.instructions()) {
    if (instruction->opcode() == Opcode::kParameter) {
      if (!is_plain(instruction->shape())) is_pure_[number] = false;
      continue;
    }
    if (!is_pure(*instruction)) is_pure_[number] = false;
    if (has_effect(*instruction)) has_effect_[number] = true;
  }
}

void Effects::add_new(const Module& module) {
  const size_t known = is_pure_.size(), size = module.computations().size();
  is_pure_.resize(size, true);
  has_effect_.resize(size);
  runs_together_.resize(size);
  is_asynchronous_.resize(size);
  for (size_t i = size; i-- > known;) look_into(*module.computations()[i]);
}

bool Effects::is_pure(const Instruction& instruction) const {
  if (!is_pure_opcode(instruction) || !is_plain(instruction.shape())) return false;
  for (const Instruction* operand : instruction.operands()) {
    if (!is_plain(operand->shape())) return false;
  }
  return std::ranges::all_of(instruction.called_computations(),
                             [&](const Computation* called) { return is_pure_[called->number()]; });
}

bool Effects::has_effect(const Instruction& instruction) const {
  if (has_own_effect(instruction, is_partitioned_)) return true;
  return std::ranges::any_of(instruction.called_computations(), [&](const Computation* called) {
    return has_effect_[called->number()];
  });
}

}  // namespace minihlo
