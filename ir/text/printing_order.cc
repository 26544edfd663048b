#include "ir/text/printing_order.h"

#include <string>

#include "ir/text/printer.h"

namespace minihlo::internal {

std::vector<const Instruction*> printing_order(const Computation& computation) {
  std::span<Instruction* const> list = computation.instructions();
  if (computation.module()->get(attr::is_scheduled)) return {list.begin(), list.end()};
  return post_order(computation);
}

std::vector<const Instruction*> post_order(const Computation& computation) {
  std::span<Instruction* const> list = computation.instructions();
  std::vector<bool> used(list.size());
  for (const Instruction* instruction : list) {
    for (const Instruction* operand : instruction->operands()) used[operand->number()] = true;
  }
  enum : uint8_t { kNew, kEntered, kLeft };
  std::vector<uint8_t> state(list.size(), kNew);
  std::vector<const Instruction*> order, stack;
  order.reserve(list.size());
  for (const Instruction* sink : list) {
    if (used[sink->number()]) continue;
    stack.push_back(sink);
    while (!stack.empty()) {
      const Instruction* top = stack.back();
      uint8_t& seen = state[top->number()];
      if (seen != kNew) {
        stack.pop_back();
        if (seen == kEntered) order.push_back(top);
        seen = kLeft;
        continue;
      }
      seen = kEntered;
      std::span<Instruction* const> operands = top->operands();
      for (size_t i = operands.size(); i-- > 0;) {
        if (state[operands[i]->number()] == kNew) stack.push_back(operands[i]);
      }
      for (const Instruction* predecessor : top->get(attr::control_predecessors)) {
        if (state[predecessor->number()] == kNew) stack.push_back(predecessor);
      }
    }
  }
  return order;
}

std::vector<const Computation*> printing_order(const Module& module) {
  std::span<Computation* const> list = module.computations();
  std::vector<std::vector<const Computation*>> callees(list.size());
  std::vector<bool> called(list.size());
  for (const Computation* computation : list) {
    for (const Instruction* instruction : printing_order(*computation)) {
      if (!instruction->calls_computations()) continue;
      for (const Computation* callee : instruction->called_computations()) {
        callees[computation->number()].push_back(callee);
        called[callee->number()] = true;
      }
    }
  }
  std::vector<bool> entered(list.size());
  std::vector<const Computation*> order;
  struct Visit {
    const Computation* computation;
    size_t next;
  };
  std::vector<Visit> stack;
  for (const Computation* root : list) {
    if (called[root->number()]) continue;
    entered[root->number()] = true;
    stack.push_back({root, 0});
    while (!stack.empty()) {
      Visit& top = stack.back();
      const auto& next = callees[top.computation->number()];
      if (top.next == next.size()) {
        order.push_back(top.computation);
        stack.pop_back();
        continue;
      }
      const Computation* callee = next[top.next++];
      if (entered[callee->number()]) continue;
      entered[callee->number()] = true;
      stack.push_back({callee, 0});
    }
  }
  return order;
}

namespace {

// What was read from text once is shared; what was read from another form is there twice.
bool say_the_same(const Attribute& one, const Attribute& other) {
  return (one.data == other.data && one.size == other.size) || print_text(one) == print_text(other);
}

}  // namespace

bool hides(const PrintOptions& options, AttributeId id) {
  return (!options.metadata && id == AttributeId::metadata) ||
         (!options.backend_config && id == AttributeId::backend_config) ||
         (!options.control_predecessors && id == AttributeId::control_predecessors) ||
         std::find(options.hidden.begin(), options.hidden.end(), id) != options.hidden.end();
}

const Instruction* sugared_operation(const Instruction& start, const PrintOptions& options) {
  if (start.opcode() != Opcode::kAsyncStart) return nullptr;
  const Computation* computation = start.get(attr::calls);
  if (!computation || !computation->root()) return nullptr;
  const Instruction* root = computation->root();
  if (info(root->opcode()).family == Family::kAsync || root->opcode() == Opcode::kParameter ||
      computation->size() != start.operand_count() + 1 ||
      root->operand_count() != start.operand_count()) {
    return nullptr;
  }
  for (size_t i = 0; i < root->operand_count(); ++i) {
    const Instruction* operand = root->operand(i);
    if (operand->opcode() != Opcode::kParameter ||
        operand->get(attr::parameter_number) != static_cast<int64_t>(i) ||
        operand->shape() != start.operand(i)->shape()) {
      return nullptr;
    }
    for (const Attribute& attribute : operand->attributes()) {
      if (attribute.id != AttributeId::parameter_number && !hides(options, attribute.id) &&
          says_something(attribute)) {
        return nullptr;
      }
    }
  }
  const Shape* shape = start.shape();
  if (!shape->is_tuple() || shape->elements().size() < 2 || !shape->element(0)->is_tuple() ||
      shape->element(1) != root->shape()) {
    return nullptr;
  }
  std::string text(to_string(root->opcode()));
  if (opcode_from(text + "-start") || opcode_from(text + "-done")) return nullptr;
  if (start.find(attr::async_execution_thread).value_or("main") !=
      computation->execution_thread()) {
    return nullptr;
  }
  // An attribute of the start that the work might have is read as the work's. What the start calls
  // is not printed.
  for (const AttributeUse& use : info(root->opcode()).attributes) {
    if (find_attribute(start.attributes(), use.id) && use.id != AttributeId::result_accuracy &&
        use.id != AttributeId::calls && !hides(options, use.id)) {
      return nullptr;
    }
  }
  // What the work says beside its own attributes must be what the start says too, since it is
  // printed once.
  for (const AttributeUse& use : common_attributes()) {
    const Attribute* inner = find_attribute(root->attributes(), use.id);
    if (!inner || use.id == AttributeId::result_accuracy || hides(options, use.id)) continue;
    const Attribute* outer = find_attribute(start.attributes(), use.id);
    if (!outer || !say_the_same(*outer, *inner)) return nullptr;
  }
  return root;
}

}  // namespace minihlo::internal
