#include "passes/shards/uniform_values.h"

#include <algorithm>

#include "ir/semantics/groups.h"

namespace minihlo {
namespace {

// Leaves of all values together, and looks at them, before nothing is taken for uniform.
constexpr int64_t kMaxLeaves = int64_t{1} << 24;
constexpr int64_t kMaxLooks = int64_t{1} << 26;

// Whether all devices get the same from a collective whatever they put in.
bool gives_all_the_same(const Instruction& collective, const Mesh& mesh) {
  switch (collective.opcode()) {
    case Opcode::kAllGather:
    case Opcode::kAllReduce:
    case Opcode::kCollectiveBroadcast: {
      if (collective.get(attr::has_dynamic_root)) return false;
      auto groups = collective_groups(collective, mesh);
      return groups && groups->size() == 1 && groups->covers_mesh();
    }
    default:
      return false;
  }
}

}  // namespace

UniformValues::UniformValues(const Module& module, const Mesh& mesh)
    : mesh_(mesh),
      entry_(module.entry()),
      leaves_(module.computations().size()),
      together_(module.computations().size()) {
  int64_t count = 0;
  for (const Computation* computation : module.computations()) {
    leaves_[computation->number()].resize(computation->size());
    for (const Instruction* instruction : computation->instructions()) {
      count += instruction->shape()->leaf_count();
      if (count > kMaxLeaves) return;
      leaves(*instruction).assign(static_cast<size_t>(instruction->shape()->leaf_count()), true);
    }
  }
  // All are taken for uniform until something says otherwise.
  int64_t looks = kMaxLooks;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Computation* computation : module.computations()) {
      for (const Instruction* instruction : computation->instructions()) {
        looks -= 1 + instruction->shape()->leaf_count();
        if (looks < 0) return;
        changed |= update(*instruction);
      }
    }
  }
  find_together(module);
}

bool UniformValues::is_uniform(const Instruction& instruction) const {
  return runs_together(*instruction.parent()) && all(instruction);
}

bool UniformValues::all(const Instruction& instruction) const {
  const Leaves& known = leaves_[instruction.parent()->number()][instruction.number()];
  return std::ranges::find(known, false) == known.end();
}

void UniformValues::find_together(const Module& module) {
  std::vector<bool> parted(together_.size());
  std::span<Computation* const> all_computations = module.computations();
  // Callers stand behind callees.
  for (size_t i = all_computations.size(); i-- > 0;) {
    const Computation& caller = *all_computations[i];
    together_[i] = (&caller == entry_ || together_[i]) && !parted[i];
    for (const Instruction* instruction : caller.instructions()) {
      const Opcode opcode = instruction->opcode();
      bool keeps = together_[i];
      keeps &= opcode == Opcode::kCall || opcode == Opcode::kFusion || opcode == Opcode::kWhile;
      if (opcode == Opcode::kWhile) keeps &= all(*instruction->get(attr::condition)->root());
      for (const Computation* callee : instruction->called_computations()) {
        (keeps ? together_ : parted)[callee->number()] = true;
      }
    }
  }
}

bool UniformValues::update(const Instruction& instruction) {
  bool changed = false;
  Leaves now = compute(instruction, changed);
  Leaves& known = leaves(instruction);
  for (size_t i = 0; i < known.size(); ++i) {
    if (!known[i] || now[i]) continue;
    known[i] = false;
    changed = true;
  }
  return changed;
}

// A parameter is uniform where it is in all calls.
bool UniformValues::give(const Computation& callee, size_t parameter, const Leaves& value) {
  bool changed = false;
  Leaves& known = leaves(*callee.parameters()[parameter]);
  for (size_t i = 0; i < known.size(); ++i) {
    if (!known[i] || value[i]) continue;
    known[i] = false;
    changed = true;
  }
  return changed;
}

UniformValues::Leaves UniformValues::compute(const Instruction& instruction, bool& changed) {
  const auto count = static_cast<size_t>(instruction.shape()->leaf_count());
  const Leaves yes(count, true), no(count, false);
  auto operand = [&](size_t i) -> Leaves& { return leaves(*instruction.operand(i)); };
  bool same = true;
  for (const Instruction* one : instruction.operands()) same = same && all(*one);
  const std::vector<Computation*> called = instruction.called_computations();
  for (size_t c = 0; c < called.size(); ++c) {
    const Computation& callee = *called[c];
    for (size_t i = 0; i < callee.parameters().size(); ++i) {
      switch (instruction.opcode()) {
        case Opcode::kCall:
        case Opcode::kFusion:
          changed |= give(callee, i, operand(i));
          break;
        case Opcode::kWhile:
          changed |= give(callee, i, operand(0));
          changed |= give(callee, i, leaves(*instruction.get(attr::body)->root()));
          break;
        case Opcode::kConditional:
          changed |= give(callee, i, operand(c + 1));
          break;
        default:
          if (info(instruction.opcode()).family != Family::kReduction) {
            const int64_t size = callee.parameters()[i]->shape()->leaf_count();
            changed |= give(callee, i, Leaves(static_cast<size_t>(size), false));
          }
          break;
      }
    }
  }
  switch (instruction.opcode()) {
    case Opcode::kParameter:
      return instruction.parent() == entry_ ? no : leaves(instruction);
    case Opcode::kReplicaId:
      return mesh_.replicas == 1 ? yes : no;
    case Opcode::kPartitionId:
      return mesh_.partitions == 1 ? yes : no;
    case Opcode::kTuple: {
      Leaves parts;
      for (size_t i = 0; i < instruction.operand_count(); ++i) {
        parts.insert(parts.end(), operand(i).begin(), operand(i).end());
      }
      return parts;
    }
    case Opcode::kGetTupleElement: {
      int64_t first = 0;
      for (int64_t i = 0; i < instruction.get(attr::index); ++i) {
        first += instruction.operand(0)->shape()->element(i)->leaf_count();
      }
      auto begin = operand(0).begin() + first;
      return Leaves(begin, begin + static_cast<int64_t>(count));
    }
    case Opcode::kOptimizationBarrier:
    case Opcode::kDomain:
    case Opcode::kAddDependency:
      return operand(0);
    case Opcode::kCall:
    case Opcode::kFusion:
      return leaves(*called[0]->root());
    case Opcode::kWhile: {
      if (!all(*instruction.get(attr::condition)->root())) return no;
      Leaves state = operand(0);
      const Leaves& next = leaves(*instruction.get(attr::body)->root());
      for (size_t i = 0; i < count; ++i) state[i] = state[i] && next[i];
      return state;
    }
    case Opcode::kConditional: {
      if (!all(*instruction.operand(0))) return no;
      Leaves result = yes;
      for (const Computation* branch : called) {
        const Leaves& given = leaves(*branch->root());
        for (size_t i = 0; i < count; ++i) result[i] = result[i] && given[i];
      }
      return result;
    }
    default:
      break;
  }
  switch (info(instruction.opcode()).family) {
    case Family::kStructure:
    case Family::kElementwise:
    case Family::kMovement:
    case Family::kContraction:
      return same ? yes : no;
    case Family::kReduction:
      for (const Computation* callee : called) same = same && all(*callee->root());
      return same ? yes : no;
    case Family::kCollective:
      return gives_all_the_same(instruction, mesh_) ? yes : no;
    default:
      return no;
  }
}

}  // namespace minihlo
