// Work that goes on beside, and talk to the host and other devices. Starts stay open until
// Builder::finish_one() ends them.
#include <algorithm>

#include <fmt/format.h>

#include "tests/generator/rules.h"

namespace minihlo::generator {

// A random instruction is made, then moved into a computation of its own, which is started.
Instruction* make_async_start(Builder& b, Opcode opcode) {
  const Opcode inner = b.choices.pick(
      {Opcode::kAdd, Opcode::kCall, Opcode::kFusion, Opcode::kAllToAll, Opcode::kReduceScatter,
       Opcode::kCustomCall, Opcode::kSlice, Opcode::kDynamicSlice, Opcode::kDot, Opcode::kSort,
       Opcode::kReduce, Opcode::kConcatenate});
  const Rule& rule = rule_of(inner);
  if (rule.use < b.options.use) return nullptr;
  if (info(inner).family == Family::kControl && b.scope->depth > 1) return nullptr;
  Instruction* pattern = rule.make(b, inner);
  if (!pattern || pattern->opcode() != inner) return nullptr;
  // Not what is under way itself, nor what says more than its own attributes.
  const bool is_value = !b.scope->values.empty() && b.scope->values.back() == pattern;
  if (!is_value || pattern->get(attr::is_composite)) return pattern;
  std::span<Instruction* const> list = b.scope->computation->instructions();
  b.scope->computation->set_instructions({list.begin(), list.end() - 1});
  b.scope->values.pop_back();
  std::vector<Instruction*> operands(pattern->operands().begin(), pattern->operands().end());
  std::vector<const Shape*> shapes;
  for (const Instruction* operand : operands) shapes.push_back(operand->shape());
  // What runs on another thread calls nothing on this one.
  const bool aside = !b.runnable() && !pattern->calls_computations() && b.choices.chance(20);
  Scope place = b.nested();
  Computation* wrapped = b.computation("wrapped", shapes, place, [&] {
    if (aside) b.scope->computation->set_execution_thread("other");
    std::vector<Attribute> own;
    for (const AttributeUse& use : info(inner).attributes) {
      if (const Attribute* one = find_attribute(pattern->attributes(), use.id)) own.push_back(*one);
    }
    std::span<Instruction* const> parameters = b.scope->computation->parameters();
    return b.scope->computation->append(inner, b.name("wrapped_" + std::string(to_string(inner))),
                                        pattern->shape(), parameters, own);
  });
  std::vector<Attribute> attributes = {make_attribute(attr::calls, wrapped)};
  if (aside) attributes.push_back(make_attribute(attr::async_execution_thread, "other"));
  add_aliasing(b, operands, pattern->shape(), attributes, {1});
  const Shape* shape = b.tuple({b.tuple(shapes), pattern->shape()});
  if (b.choices.chance(50)) {
    shape = b.tuple({b.tuple(shapes), pattern->shape(), b.shapes().scalar(ElementType::U32)});
  }
  return b.emit_start(opcode, operands, attributes, shape);
}

Instruction* make_copy_start(Builder& b, Opcode opcode) {
  Instruction* operand = b.array(b.types());
  std::vector<Attribute> attributes;
  if (!b.runnable() && b.choices.chance(30)) {
    attributes.push_back(make_attribute(attr::cross_program_prefetch_index, b.choices.below(4)));
  }
  return b.emit_start(opcode, std::span(&operand, 1), attributes);
}

Instruction* make_infeed(Builder& b, Opcode opcode) {
  std::vector<Attribute> attributes;
  if (b.choices.chance(40)) {
    attributes.push_back(make_attribute(attr::infeed_config, b.hostile_text()));
  }
  return b.emit(opcode, {b.token()}, attributes,
                b.tuple({b.array_shape(b.types()), b.shapes().token()}));
}

Instruction* make_outfeed(Builder& b, Opcode opcode) {
  Instruction* fed = b.array(b.types());
  if (!fed) return nullptr;
  std::vector<Attribute> attributes = {make_attribute(attr::outfeed_shape, fed->shape())};
  if (b.choices.chance(40)) {
    attributes.push_back(make_attribute(attr::outfeed_config, b.hostile_text()));
  }
  return b.emit(opcode, {fed, b.token()}, attributes);
}

namespace {

std::vector<Attribute> transfer(Builder& b) {
  std::vector<Attribute> attributes = {make_attribute(attr::channel_id, b.next_channel++)};
  if (b.choices.chance(40)) attributes.push_back(make_attribute(attr::is_host_transfer, true));
  return attributes;
}

}  // namespace

Instruction* make_send(Builder& b, Opcode opcode) {
  Instruction* data = b.array(b.types());
  const std::vector<Instruction*> operands = {data, b.token()};
  return b.emit_start(opcode, operands, transfer(b));
}

Instruction* make_recv(Builder& b, Opcode opcode) {
  Instruction* token = b.token();
  const Shape* shape =
      b.tuple({b.array_shape(b.types()), b.shapes().scalar(ElementType::U32), b.shapes().token()});
  return b.emit_start(opcode, std::span(&token, 1), transfer(b), shape);
}

Instruction* make_done(Builder& b, Opcode opcode) {
  // The start's name differs in its end alone; a send or recv has none.
  const std::string_view text = to_string(opcode);
  const std::string stem(text.substr(0, text.rfind('-')));
  std::optional<Opcode> start = opcode_from(stem + "-start");
  if (!start) start = opcode_from(stem);
  if (!start || !rule_of(*start).make(b, *start)) return nullptr;
  if (!b.scope->open.empty()) b.finish_one();
  return b.scope->values.empty() ? nullptr : b.scope->values.back();
}

}  // namespace minihlo::generator
