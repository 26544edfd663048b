#include "passes/computations.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ir/semantics/elementwise.h"

namespace minihlo {
namespace {

// Numbers behind names count up to here.
constexpr int64_t kLastName = int64_t{1} << 62;

}  // namespace

Computation* new_computation(Module& module, std::string_view base) {
  bool is_taken = false;
  int64_t last = 0;  // the largest N of all `base.N`
  for (const Computation* computation : module.computations()) {
    std::string_view name = computation->name();
    if (!name.starts_with(base)) continue;
    name.remove_prefix(base.size());
    is_taken |= name.empty();
    if (!name.starts_with('.')) continue;
    int64_t number = 0;
    const char* end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + 1, end, number);
    if (error == std::errc() && stop == end && number < kLastName) last = std::max(last, number);
  }
  if (!is_taken) return module.add_computation(module.keep_name(base));
  return module.add_computation(module.keep_name(fmt::format("{}.{}", base, last + 1)));
}

namespace {

using Fusions = std::vector<Instruction*>;

// Copies as copy_into() does, but for the bodies of fusions: what calls those is in `fusions`.
Instruction* copy_list(Rewriter& rewriter, const Computation& from,
                       std::span<Instruction* const> arguments, Fusions& fusions,
                       std::unordered_map<const Instruction*, Instruction*>* copies) {
  std::vector<Instruction*> copy_of(from.size());
  std::vector<Instruction*> operands;
  for (const Instruction* instruction : from.instructions()) {
    Instruction*& copy = copy_of[instruction->number()];
    if (instruction->opcode() == Opcode::kParameter) {
      copy = arguments[static_cast<size_t>(instruction->get(attr::parameter_number))];
    } else {
      operands.clear();
      for (const Instruction* operand : instruction->operands()) {
        operands.push_back(copy_of[operand->number()]);
      }
      copy = rewriter.emit(instruction->opcode(), instruction->name(), instruction->shape(),
                           operands, instruction->attributes());
      std::span<Instruction* const> before = instruction->get(attr::control_predecessors);
      if (!before.empty()) {
        std::vector<Instruction*> now;
        for (const Instruction* one : before) now.push_back(copy_of[one->number()]);
        copy->set(attr::control_predecessors, rewriter.arena().copy(now));
      }
      if (copy->opcode() == Opcode::kFusion) fusions.push_back(copy);
    }
    if (copies) copies->emplace(instruction, copy);
  }
  return copy_of[from.root()->number()];
}

Computation* copy_but_for_fusions(const Computation& from, std::string_view base,
                                  Fusions& fusions) {
  Module& module = *from.module();
  Computation* made = new_computation(module, base);
  made->set_execution_thread(from.execution_thread());
  Rewriter rewriter(made);
  std::vector<Instruction*> parameters;
  for (const Instruction* parameter : from.parameters()) {
    parameters.push_back(rewriter.emit(Opcode::kParameter, parameter->name(), parameter->shape(),
                                       {}, parameter->attributes()));
  }
  Instruction* root = copy_list(rewriter, from, parameters, fusions, nullptr);
  rewriter.finish();
  made->set_root(root);
  return made;
}

// Bodies may hold fusions in turn.
void copy_bodies(Fusions fusions) {
  while (!fusions.empty()) {
    Instruction* fusion = fusions.back();
    fusions.pop_back();
    const Computation& body = *fusion->get(attr::calls);
    fusion->set(attr::calls, copy_but_for_fusions(body, body.name(), fusions));
  }
}

}  // namespace

Instruction* copy_into(Rewriter& rewriter, const Computation& from,
                       std::span<Instruction* const> arguments,
                       std::unordered_map<const Instruction*, Instruction*>* copies) {
  Fusions fusions;
  Instruction* root = copy_list(rewriter, from, arguments, fusions, copies);
  copy_bodies(std::move(fusions));
  return root;
}

int64_t copied_size(const Computation& from) {
  int64_t size = 0;
  // Each body belongs to one fusion, so none comes twice.
  std::vector<const Computation*> open = {&from};
  while (!open.empty()) {
    const Computation* next = open.back();
    open.pop_back();
    size += static_cast<int64_t>(next->size());
    for (const Instruction* one : next->instructions()) {
      if (one->opcode() == Opcode::kFusion) open.push_back(one->get(attr::calls));
    }
  }
  return size;
}

Computation* binary_computation(Module& module, Opcode opcode, ElementType type,
                                std::string_view base) {
  Computation* made = new_computation(module, base);
  const Shape* scalar = module.shapes().scalar(type);
  Rewriter rewriter(made);
  Instruction* parameters[2] = {};
  for (int64_t i = 0; i < 2; ++i) {
    parameters[i] = rewriter.emit(Opcode::kParameter, i == 0 ? "lhs" : "rhs", scalar, {},
                                  {make_attribute(attr::parameter_number, i)});
  }
  Instruction* root = rewriter.emit(opcode, to_string(opcode), scalar, parameters);
  rewriter.finish();
  made->set_root(root);
  return made;
}

std::optional<Opcode> reducer_opcode(const Computation& reducer) {
  const Instruction* root = reducer.root();
  if (reducer.size() != 3 || reducer.parameters().size() != 2 || root->operand_count() != 2) {
    return std::nullopt;
  }
  const bool is_binary = root->operand(0) != root->operand(1) &&
                         root->operand(0)->opcode() == Opcode::kParameter &&
                         root->operand(1)->opcode() == Opcode::kParameter;
  const bool is_straight = is_binary && root->operand(0)->get(attr::parameter_number) == 0;
  if (!is_binary || !is_commutative(root->opcode())) return std::nullopt;
  if (!is_straight && root->shape()->is_array() && is_complex(root->shape()->element_type())) {
    return std::nullopt;
  }
  return root->opcode();
}

namespace {

// Nodes that are numbered by their place in the list, each behind those that `each_before` calls
// its visitor with, the last visited first where there is a choice.
template <class Node, class EachBefore>
std::vector<Node*> ordered(std::span<Node* const> nodes, const EachBefore& each_before) {
  enum class Mark : uint8_t { kNew, kOpen, kPlaced };
  std::vector<Mark> marks(nodes.size(), Mark::kNew);
  std::vector<Node*> order, stack;
  for (Node* node : nodes) {
    stack.push_back(node);
    while (!stack.empty()) {
      Node* top = stack.back();
      Mark& mark = marks[top->number()];
      if (mark != Mark::kNew) {
        if (mark == Mark::kOpen) order.push_back(top);
        mark = Mark::kPlaced;
        stack.pop_back();
        continue;
      }
      mark = Mark::kOpen;
      each_before(*top, [&](Node* before) {
        if (marks[before->number()] == Mark::kNew) stack.push_back(before);
      });
    }
  }
  return order;
}

}  // namespace

void order_callees_first(Module& module) {
  module.order_computations(
      ordered(module.computations(), [](const Computation& computation, const auto& visit) {
        for (const Instruction* instruction : computation.instructions()) {
          for (Computation* callee : instruction->called_computations()) visit(callee);
        }
      }));
}

void order_operands_first(Computation& computation) {
  computation.set_instructions(
      ordered(computation.instructions(), [](const Instruction& instruction, const auto& visit) {
        auto visit_back = [&](std::span<Instruction* const> before) {
          for (size_t i = before.size(); i-- > 0;) visit(before[i]);
        };
        visit_back(instruction.get(attr::control_predecessors));
        visit_back(instruction.operands());
      }));
}

std::vector<bool> asynchronous_computations(const Module& module) {
  std::vector<bool> result(module.computations().size());
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (instruction->opcode() != Opcode::kAsyncStart) continue;
      for (const Computation* called : instruction->called_computations()) {
        result[called->number()] = true;
      }
    }
  }
  return result;
}

std::vector<int64_t> call_counts(const Module& module) {
  std::vector<int64_t> counts(module.computations().size());
  if (module.entry()) ++counts[module.entry()->number()];
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* callee : instruction->called_computations()) {
        ++counts[callee->number()];
      }
    }
  }
  return counts;
}

}  // namespace minihlo
