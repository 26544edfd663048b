#include "passes/ring/lockstep.h"

#include <algorithm>

#include "ir/semantics/groups.h"

namespace minihlo {
namespace {

std::vector<bool> all_leaves(const Shape* shape, bool value) {
  return std::vector<bool>(static_cast<size_t>(shape->leaf_count()), value);
}

// Groups of so many devices in all are looked through; what is left is not taken for the same.
constexpr int64_t kMaxNumbers = int64_t{1} << 26;

}  // namespace

// All is taken for the same and in step, and given up where it is not, until nothing has to be.
Lockstep::Lockstep(const Module& module, const Mesh& mesh) : mesh_(mesh) {
  const size_t count = module.computations().size();
  in_step_.assign(count, true);
  same_.resize(count);
  same_parameters_.resize(count);
  bool parts = false;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      parts |=
          instruction->opcode() == Opcode::kWhile || instruction->opcode() == Opcode::kConditional;
    }
  }
  if (!parts) return;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      same_[computation->number()].push_back(all_leaves(instruction->shape(), true));
    }
    const bool is_entry = computation == module.entry();
    for (const Instruction* parameter : computation->parameters()) {
      same_parameters_[computation->number()].push_back(all_leaves(parameter->shape(), !is_entry));
    }
  }
  // More rounds than loops nest in real modules; what takes more is given up altogether.
  constexpr int kMaxRounds = 100;
  for (int round = 0; revise(module); ++round) {
    if (round < kMaxRounds) continue;
    in_step_.assign(count, false);
    return;
  }
}

bool Lockstep::revise(const Module& module) {
  changed_ = false;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      Leaves& known = same_[computation->number()][instruction->number()];
      const Leaves now = look_at(*instruction);
      for (size_t i = 0; i < known.size(); ++i) {
        if (!known[i] || now[i]) continue;
        known[i] = false;
        changed_ = true;
      }
    }
  }
  return changed_;
}

// Whether each device gets the same from it, whatever the operands are.
bool Lockstep::gives_all_the_same(const Instruction& collective) {
  const bool shares = collective.opcode() == Opcode::kAllReduce ||
                      collective.opcode() == Opcode::kAllGather ||
                      collective.opcode() == Opcode::kCollectiveBroadcast;
  if (!shares || collective.get(attr::has_dynamic_root)) return false;
  const auto [known, is_new] = shared_.try_emplace(&collective, false);
  if (!is_new || numbers_ > kMaxNumbers) return known->second;
  numbers_ += mesh_.device_count();
  auto groups = collective_groups(collective, mesh_);
  known->second = groups && groups->size() == 1 && groups->covers_mesh();
  return known->second;
}

bool Lockstep::is_same(const Instruction& value) const {
  const Leaves& leaves = same_[value.parent()->number()][value.number()];
  return std::ranges::all_of(leaves, [](bool leaf) { return leaf; });
}

void Lockstep::leave(const Computation& computation) {
  changed_ |= in_step_[computation.number()];
  in_step_[computation.number()] = false;
}

void Lockstep::give(const Computation& computation, size_t parameter, const Leaves& argument) {
  std::vector<Leaves>& parameters = same_parameters_[computation.number()];
  if (parameter >= parameters.size()) return;
  Leaves& known = parameters[parameter];
  for (size_t i = 0; i < std::min(known.size(), argument.size()); ++i) {
    if (!known[i] || argument[i]) continue;
    known[i] = false;
    changed_ = true;
  }
}

// Which leaves of a value are the same on all devices that come to it; tells callees what they get.
Lockstep::Leaves Lockstep::look_at(const Instruction& instruction) {
  const auto leaves_of = [&](const Instruction& value) -> const Leaves& {
    return same_[value.parent()->number()][value.number()];
  };
  const bool in_step = in_step_[instruction.parent()->number()];
  const auto enter = [&](const Computation& called, bool together) {
    if (!in_step || !together) leave(called);
  };
  switch (instruction.opcode()) {
    case Opcode::kParameter:
      return same_parameters_[instruction.parent()->number()]
                             [static_cast<size_t>(instruction.get(attr::parameter_number))];
    case Opcode::kReplicaId:
      return {mesh_.replicas == 1};
    case Opcode::kPartitionId:
      return {mesh_.partitions == 1};
    case Opcode::kTuple: {
      Leaves result;
      for (const Instruction* operand : instruction.operands()) {
        const Leaves& part = leaves_of(*operand);
        result.insert(result.end(), part.begin(), part.end());
      }
      return result;
    }
    case Opcode::kGetTupleElement: {
      const Shape* whole = instruction.operand(0)->shape();
      const int64_t index = instruction.get(attr::index);
      std::ptrdiff_t start = 0;
      for (int64_t i = 0; i < index; ++i) start += whole->element(i)->leaf_count();
      const auto first = leaves_of(*instruction.operand(0)).begin() + start;
      return Leaves(first, first + instruction.shape()->leaf_count());
    }
    case Opcode::kOptimizationBarrier:
      return leaves_of(*instruction.operand(0));
    case Opcode::kWhile: {
      const Computation& body = *instruction.get(attr::body);
      const Computation& condition = *instruction.get(attr::condition);
      const bool together = is_same(*condition.root());
      for (const Computation* called : {&body, &condition}) {
        enter(*called, together);
        give(*called, 0, leaves_of(*instruction.operand(0)));
        give(*called, 0, leaves_of(*body.root()));
      }
      if (!together) return all_leaves(instruction.shape(), false);
      return same_parameters_[body.number()][0];
    }
    case Opcode::kConditional: {
      const bool together = is_same(*instruction.operand(0));
      Leaves result = all_leaves(instruction.shape(), together);
      size_t argument = 1;
      for (const Computation* branch : instruction.called_computations()) {
        enter(*branch, together);
        give(*branch, 0, leaves_of(*instruction.operand(argument++)));
        const Leaves& root = leaves_of(*branch->root());
        for (size_t i = 0; i < result.size(); ++i) result[i] = result[i] && root[i];
      }
      return result;
    }
    case Opcode::kCall:
    case Opcode::kFusion: {
      const Computation& called = *instruction.called_computations()[0];
      enter(called, true);
      for (size_t i = 0; i < instruction.operand_count(); ++i) {
        give(called, i, leaves_of(*instruction.operand(i)));
      }
      return leaves_of(*called.root());
    }
    default:
      break;
  }
  bool result = false;
  switch (info(instruction.opcode()).family) {
    case Family::kCollective:
      result = gives_all_the_same(instruction);
      break;
    case Family::kStructure:
    case Family::kElementwise:
    case Family::kMovement:
    case Family::kReduction:
    case Family::kContraction:
      result = std::ranges::all_of(instruction.operands(),
                                   [&](const Instruction* one) { return is_same(*one); });
      break;
    default:
      break;
  }
  // What they call takes what this takes, one by one.
  for (const Computation* called : instruction.called_computations()) {
    enter(*called, true);
    for (size_t i = 0; i < called->parameters().size(); ++i) give(*called, i, Leaves(1, result));
  }
  return all_leaves(instruction.shape(), result);
}

}  // namespace minihlo
