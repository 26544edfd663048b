#include "passes/splice.h"

#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "passes/computations.h"
#include "passes/keep_attributes.h"

namespace minihlo {
namespace {

// The value with the layout of `shape`, which only arrays can be given.
Instruction* with_shape(Rewriter& rewriter, Instruction* value, const Shape* shape) {
  if (value->shape() == shape) return value;
  return rewriter.emit(Opcode::kCopy, "copy", shape, {value});
}

bool can_take(const Shape* from, const Shape* to) {
  return from == to || (from->is_array() && to->is_array() && compatible(from, to));
}

}  // namespace

std::string splice_obstacle(const Computation& called, std::span<Instruction* const> operands,
                            const Shape* result) {
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!can_take(operands[i]->shape(), called.parameters()[i]->shape())) {
      return fmt::format("parameter {} of %{} has another shape or layout than what it is given", i,
                         called.name());
    }
  }
  if (!can_take(called.root()->shape(), result)) {
    return fmt::format("the root of %{} has another shape or layout than the result",
                       called.name());
  }
  return "";
}

Spliced splice(Rewriter& rewriter, const Computation& called,
               std::span<Instruction* const> operands, const Instruction& at,
               std::span<Instruction* const> before, Effects& effects) {
  std::vector<Instruction*> arguments;
  for (size_t i = 0; i < operands.size(); ++i) {
    arguments.push_back(with_shape(rewriter, operands[i], called.parameters()[i]->shape()));
  }
  std::unordered_map<const Instruction*, Instruction*> copies;
  Spliced result;
  result.root = copy_into(rewriter, called, arguments, &copies);
  effects.add_new(rewriter.module());
  std::unordered_set<const Instruction*> own, used;
  std::vector<Instruction*> made;  // in order
  for (const Instruction* instruction : called.instructions()) {
    if (instruction->opcode() == Opcode::kParameter) continue;
    Instruction* copy = copies.at(instruction);
    made.push_back(copy);
    own.insert(copy);
    if (effects.has_effect(*instruction)) result.effects.push_back(copy);
  }
  for (Instruction* copy : made) {
    bool is_first = true;
    auto look_at = [&](const Instruction* one) {
      if (!own.contains(one)) return;
      used.insert(one);
      is_first = false;
    };
    std::span<Instruction* const> waits = copy->get(attr::control_predecessors);
    for (const Instruction* operand : copy->operands()) look_at(operand);
    for (const Instruction* one : waits) look_at(one);
    if (!is_first || before.empty()) continue;
    std::vector<Instruction*> all(waits.begin(), waits.end());
    std::unordered_set<const Instruction*> named(all.begin(), all.end());
    for (Instruction* one : before) {
      if (named.insert(one).second) all.push_back(one);
    }
    copy->set(attr::control_predecessors, rewriter.arena().copy(all));
  }
  for (Instruction* copy : made) {
    if (!used.contains(copy)) result.last.push_back(copy);
  }
  const bool is_new = own.contains(result.root);
  if (result.root->shape() != at.shape()) {
    result.root = with_shape(rewriter, result.root, at.shape());
    keep_description(at, result.root);
  } else if (is_new) {
    keep_description(at, result.root);
  }
  return result;
}

void replace_by(Rewriter& rewriter, Instruction* at, const Spliced& spliced) {
  std::vector<Instruction*> heirs = {spliced.root};
  for (Instruction* one : spliced.last) {
    if (one != spliced.root) heirs.push_back(one);
  }
  rewriter.remove(at, heirs);
}

}  // namespace minihlo
