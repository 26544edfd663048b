// What identifies the function that an instruction computes: its opcode, attributes and shapes, and
// the computations that it calls, as terms over their parameters.
#include <algorithm>

#include <fmt/format.h>

#include "ir/text/printer.h"
#include "sim/prove/term_domain.h"

namespace minihlo::prove {

tl::expected<uint32_t, Stop> TermDomain::signature(const Instruction& instruction) {
  if (auto found = signatures_.find(&instruction); found != signatures_.end()) {
    return found->second;
  }
  if (info(instruction.opcode()).family == Family::kElementwise) {
    std::vector<ElementType> operands;
    for (const Instruction* operand : instruction.operands()) {
      operands.push_back(operand->shape()->element_type());
    }
    const uint32_t number = rules_.functions().elementwise(
        {instruction.opcode(), operands, instruction.shape()->element_type(),
         instruction.attributes()},
        &instruction);
    signatures_.emplace(&instruction, number);
    return number;
  }
  std::string key(to_string(instruction.opcode()));
  // A bitcast that changes the type reads memory as the layouts say; so may a custom-call.
  bool layouts =
      instruction.opcode() == Opcode::kBitcast || instruction.opcode() == Opcode::kCustomCall;
  auto add_shape = [&](const Shape* shape) {
    key += ' ';
    append(key, shape, layouts);
  };
  for (const Instruction* operand : instruction.operands()) add_shape(operand->shape());
  add_shape(instruction.shape());
  auto add_attribute = [&](AttributeId id) {
    const Attribute* attribute = find_attribute(instruction.attributes(), id);
    if (!attribute) return;
    AttributeKind kind = info(id).kind;
    if (kind != AttributeKind::kComputation && kind != AttributeKind::kComputations) {
      key += ' ';
      key += print_text(*attribute);
    }
  };
  for (const AttributeUse& use : info(instruction.opcode()).attributes) add_attribute(use.id);
  if (instruction.opcode() == Opcode::kCustomCall) add_attribute(AttributeId::backend_config);
  for (const Computation* called : instruction.called_computations()) {
    tl::expected<std::string, Stop> region = region_key(*called);
    if (!region) return tl::unexpected(std::move(region.error()));
    key += " {" + *region + '}';
  }
  Signature made;
  made.key = std::move(key);
  const bool is_reduction =
      instruction.opcode() == Opcode::kReduce || instruction.opcode() == Opcode::kReduceWindow;
  if (is_reduction && instruction.operand_count() == 2) {
    const Computation& reducer = *instruction.get(attr::to_apply);
    const ElementType type = instruction.shape()->element_type();
    made.folds = exact_reducer(reducer, type);
    tl::expected<std::optional<PointFunction>, Stop> step = reducer_step(instruction, type);
    if (!step) return tl::unexpected(std::move(step.error()));
    if (*step) made.steps = terms_.signature((*step)->signature).opcode;
  }
  made.instruction = &instruction;
  uint32_t number = terms_.signature(std::move(made));
  signatures_.emplace(&instruction, number);
  return number;
}

tl::expected<std::string, Stop> TermDomain::region_key(const Computation& computation) {
  if (auto found = region_keys_.find(&computation); found != region_keys_.end()) {
    return found->second;
  }
  std::vector<Val> arguments;
  int64_t number = 0;
  for (const Instruction* parameter : computation.parameters()) {
    std::vector<Array> leaves;
    for (const Shape* leaf : leaf_shapes(parameter->shape())) {
      leaves.emplace_back(terms_.placeholder(kRegionLevel, number++, Handle::kNoDevice,
                                             leaf->element_type(), leaf->element_count()));
    }
    Array* next = leaves.data();
    arguments.push_back(value_from_leaves<Array>(parameter->shape(), next));
  }
  ++region_depth_;
  const int device = 0;
  tl::expected<Val, Stop> result =
      walker_->run(computation, std::move(arguments), std::span(&device, 1));
  --region_depth_;
  if (!result) return tl::unexpected(std::move(result.error()));
  std::vector<Array> leaves;
  append_leaves(*result, leaves);
  std::string key;
  for (const Array& leaf : leaves) {
    key += leaf.is_set() ? fmt::format("{} ", leaf[0].node) : "token ";
  }
  region_keys_.emplace(&computation, key);
  return key;
}

}  // namespace minihlo::prove
