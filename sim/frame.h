// A computation at work on a strand, or a loop around one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "ir/semantics/collective_forms.h"
#include "sim/plan.h"
#include "sim/value.h"

namespace minihlo {

template <class Array>
struct Frame {
  using Val = Value<Array>;

  // A computation.
  const Plan* plan = nullptr;
  const Computation* computation = nullptr;
  size_t next = 0;  // step
  std::vector<Val> values;
  std::vector<Val> arguments;
  // A loop; `plan` is null.
  const Instruction* loop = nullptr;
  Val state;
  bool testing = false;
  int64_t trips = 0;
  // The value of the step before, where somebody wants to see what instructions make.
  bool is_watched = false;
  std::optional<Val> made;
  // For reports: the conditional's branch that this is.
  const Instruction* caller = nullptr;
  int branch = -1;

  bool is_done() const { return next == plan->steps.size(); }
  const Plan::Step& at() const { return plan->steps[next]; }
  const Instruction& instruction() const { return *at().instruction; }
  Val& value_of(const Instruction& instruction) { return values[instruction.number()]; }

  // The step at hand.

  /// The operand's value, moved out where nobody needs it any more.
  Val take(size_t i) {
    Val& value = value_of(*instruction().operand(i));
    return at().last_use[i] ? std::move(value) : value;
  }

  /// An element of the operand, a tuple, likewise.
  Val take_element(size_t index) {
    Val& tuple = value_of(*instruction().operand(0));
    Val& element = (*tuple.elements)[index];
    bool owned = at().last_use[0] && tuple.elements.use_count() == 1;
    return owned ? std::move(element) : element;
  }

  std::vector<Val> take_all() {
    std::vector<Val> result;
    for (size_t i = 0; i < instruction().operand_count(); ++i) result.push_back(take(i));
    return result;
  }

  std::vector<Val> operand_values() const {
    std::vector<Val> result;
    for (const Instruction* operand : instruction().operands()) {
      result.push_back(values[operand->number()]);
    }
    return result;
  }

  /// The leaves of all operands. `flattened` holds those that come out of tuples.
  std::vector<Operand<Array>> operand_leaves(std::vector<Array>& flattened) {
    std::span<Instruction* const> from = instruction().operands();
    for (const Instruction* operand : from) {
      if (operand->shape()->is_tuple()) append_leaves(value_of(*operand), flattened);
    }
    std::vector<Operand<Array>> operands;
    Array* leaf = flattened.data();
    for (size_t i = 0; i < from.size(); ++i) {
      if (!from[i]->shape()->is_tuple()) {
        operands.push_back({&value_of(*from[i]).array, at().last_use[i]});
        continue;
      }
      for (int64_t n = from[i]->shape()->leaf_count(); n > 0; --n) {
        operands.push_back({leaf++, false});
      }
    }
    return operands;
  }

  /// Keeps its value and goes on to the next step.
  void store(Val value) {
    const Plan::Step& done = at();
    ++next;
    if (is_watched) made = value;
    values[done.instruction->number()] = std::move(value);
    for (uint32_t number : done.released) values[number] = Val{};
  }

  /// The same for a cluster.
  void store_outputs(const Cluster& cluster, std::vector<Array>& outputs) {
    const Plan::Step& done = at();
    ++next;
    for (size_t i = 0; i < outputs.size(); ++i) {
      values[cluster.outputs[i]->number()] = Val{std::move(outputs[i]), nullptr, nullptr};
    }
    for (uint32_t number : done.released) values[number] = Val{};
  }

  void store_leaves(std::vector<Array>& leaves) {
    Array* leaf = leaves.data();
    store(value_from_leaves<Array>(instruction().shape(), leaf));
  }

  /// The value of an instruction that starts work on `operands` whose result is known at once:
  /// (operands, result, contexts...).
  static Val started(const Instruction& instruction, Val operands, Val result) {
    std::span<const Shape* const> shapes = instruction.shape()->elements();
    std::vector<Val> elements;
    elements.push_back(std::move(operands));
    elements.push_back(std::move(result));
    for (size_t i = 2; i < shapes.size(); ++i) {
      elements.push_back(unset_value<Array>(shapes[i], &instruction));
    }
    Val state = tuple_value(std::move(elements));
    state.begun = &instruction;
    return state;
  }

  /// The value of the collective at hand, or of its start form, whose result is `result`.
  Val collective_value(Val result) const {
    const Instruction& collective = instruction();
    if (collective_result_shape(collective) == collective.shape()) return result;
    std::vector<Val> operands = operand_values();
    if (collective.has(attr::permute_slice_sizes)) operands.resize(1);
    bool single = operands.size() == 1 &&
                  operands[0].is_tuple() == collective.shape()->element(0)->is_tuple();
    return started(collective, single ? operands[0] : tuple_value(std::move(operands)),
                   std::move(result));
  }
};

}  // namespace minihlo
