#include <algorithm>

#include "tests/generator/rules.h"

namespace minihlo::generator {
namespace {

std::vector<const Shape*> shapes_of(const std::vector<Instruction*>& values) {
  std::vector<const Shape*> shapes;
  for (const Instruction* value : values) shapes.push_back(value->shape());
  return shapes;
}

std::vector<Instruction*> any_values(Builder& b, int64_t least, int64_t most) {
  std::vector<Instruction*> values;
  for (int64_t i = b.choices.between(least, most); i > 0; --i) {
    if (Instruction* one = b.any_value()) values.push_back(one);
  }
  return values;
}

// Shardings of a loop or conditional and of what stands for its values must agree: there are none.
Instruction* without_shardings(Instruction* instruction) {
  if (!instruction) return nullptr;
  instruction->erase(AttributeId::sharding);
  for (Computation* called : instruction->called_computations()) {
    called->root()->erase(AttributeId::sharding);
    for (Instruction* parameter : called->parameters()) parameter->erase(AttributeId::sharding);
  }
  return instruction;
}

}  // namespace

void add_aliasing(Builder& b, const std::vector<Instruction*>& operands, const Shape* result,
                  std::vector<Attribute>& attributes, const std::vector<int64_t>& index) {
  if (b.runnable() || !b.choices.chance(20)) return;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!compatible(operands[i]->shape(), result)) continue;
    const std::vector<Alias> alias = {{b.ints(index), static_cast<int64_t>(i), {}, {}}};
    attributes.push_back(make_attribute(attr::output_to_operand_aliasing, b.arena().copy(alias)));
    return;
  }
}

Instruction* make_call(Builder& b, Opcode opcode) {
  const std::vector<Instruction*> operands = any_values(b, 0, 3);
  const Scope place = b.nested();
  Computation* called = b.computation("called", shapes_of(operands), place, [&] {
    b.fill(4);
    return b.any_value();
  });
  std::vector<Attribute> attributes = {make_attribute(attr::to_apply, called)};
  if (!b.runnable() && b.choices.chance(15)) {
    attributes.push_back(make_attribute(attr::is_composite, true));
    const std::vector<NamedString> names = {{"composite.name", "my.op", false},
                                            {"composite.version", "1", false}};
    attributes.push_back(make_attribute(attr::frontend_attributes, b.arena().copy(names)));
  }
  return b.emit(opcode, operands, attributes);
}

Instruction* make_conditional(Builder& b, Opcode opcode) {
  const bool by_number = b.choices.chance(50);
  const size_t count = by_number ? static_cast<size_t>(b.choices.between(1, 3)) : 2;
  // Only a constant is surely the same on all devices.
  const bool alike = b.choices.chance(30);
  const ElementType type = by_number ? ElementType::S32 : ElementType::PRED;
  Instruction* test =
      alike ? b.constant(type, {}, {b.choices.between(by_number ? -1 : 0, by_number ? 3 : 1)})
            : b.scalar(type);
  std::vector<Instruction*> operands = {test};
  const Shape* result = b.scope->pure || b.runnable() ? b.array_shape(b.types()) : b.any_shape();
  if (b.choices.chance(30)) result = b.tuple({result, b.array_shape(b.types())});
  std::vector<Computation*> branches;
  for (size_t i = 0; i < count; ++i) {
    Instruction* operand = b.any_value();
    if (!operand) return nullptr;
    operands.push_back(operand);
    Scope place = b.nested();
    place.runs_everywhere = place.runs_everywhere && alike;
    const Shape* taken = operand->shape();
    branches.push_back(b.computation("branch", std::span(&taken, 1), place, [&] {
      b.fill(3);
      return b.value(result);
    }));
  }
  if (by_number) {
    return without_shardings(b.emit(
        opcode, operands, {make_attribute(attr::branch_computations, b.arena().copy(branches))}));
  }
  return without_shardings(b.emit(opcode, operands,
                                  {make_attribute(attr::true_computation, branches[0]),
                                   make_attribute(attr::false_computation, branches[1])}));
}

// All that nobody uses becomes the result, since a fusion must use all that is in it.
Instruction* make_fusion(Builder& b, Opcode opcode) {
  std::vector<Instruction*> operands;
  for (int64_t i = b.choices.between(1, 3); i > 0; --i) operands.push_back(b.array(b.types()));
  if (std::find(operands.begin(), operands.end(), nullptr) != operands.end()) return nullptr;
  Scope place = b.nested();
  place.pure = true;
  Computation* fused = b.computation("fused", shapes_of(operands), place, [&] {
    b.fill(5);
    std::span<Instruction* const> list = b.scope->computation->instructions();
    std::vector<bool> used(list.size());
    for (const Instruction* one : list) {
      for (const Instruction* operand : one->operands()) used[operand->number()] = true;
    }
    std::vector<Instruction*> sinks;
    for (Instruction* one : list) {
      if (!used[one->number()]) sinks.push_back(one);
    }
    if (sinks.size() > 1) return b.emit(Opcode::kTuple, sinks);
    return sinks[0]->opcode() == Opcode::kParameter ? b.emit(Opcode::kCopy, {sinks[0]}) : sinks[0];
  });
  std::vector<Attribute> attributes = {
      make_attribute(attr::kind, b.choices.pick({FusionKind::kLoop, FusionKind::kInput,
                                                 FusionKind::kOutput, FusionKind::kCustom})),
      make_attribute(attr::calls, fused)};
  add_aliasing(b, operands, fused->root()->shape(), attributes);
  return b.emit(opcode, operands, attributes);
}

// The state is a counter and some values; the loop makes a few trips.
Instruction* make_while(Builder& b, Opcode opcode) {
  std::vector<Instruction*> state = {b.constant(ElementType::S32, {}, {b.choices.below(2)})};
  for (int64_t i = b.choices.between(0, 3); i > 0; --i) {
    if (Instruction* one = b.array(b.types())) state.push_back(one);
  }
  Instruction* start = b.emit(Opcode::kTuple, state);
  const Shape* shape = start->shape();
  const int64_t trips = b.choices.between(0, 4);
  auto element = [&](int64_t i) {
    return b.emit(Opcode::kGetTupleElement, {b.scope->computation->parameters()[0]},
                  {make_attribute(attr::index, i)});
  };
  Scope tested = b.nested();
  tested.pure = true;
  Computation* condition = b.computation("condition", std::span(&shape, 1), tested, [&] {
    if (!b.runnable() && b.choices.chance(15)) {
      b.fill(3);
      return b.scalar(ElementType::PRED);
    }
    return b.emit(Opcode::kCompare, {element(0), b.constant(ElementType::S32, {}, {trips})},
                  {make_attribute(attr::direction, ComparisonDirection::kLt)});
  });
  const Scope place = b.nested();
  Computation* body = b.computation("body", std::span(&shape, 1), place, [&] {
    std::vector<Instruction*> next = {
        b.emit(Opcode::kAdd, {element(0), b.constant(ElementType::S32, {}, {1})})};
    for (size_t i = 1; i < state.size(); ++i) element(static_cast<int64_t>(i));
    b.fill(4);
    for (size_t i = 1; i < state.size(); ++i) {
      next.push_back(b.value(shape->element(static_cast<int64_t>(i))));
    }
    return b.emit(Opcode::kTuple, next);
  });
  start->erase(AttributeId::sharding);
  return without_shardings(
      b.emit(opcode, {start},
             {make_attribute(attr::condition, condition), make_attribute(attr::body, body)}));
}

namespace {

Instruction* make_known_custom_call(Builder& b, Opcode opcode) {
  Instruction* operand = b.array(b.types());
  if (!operand) return nullptr;
  const std::string_view target =
      b.choices.pick({"Sharding", "LayoutConstraint", "MoveToHost", "MoveToDevice"});
  return b.emit(opcode, {operand}, {make_attribute(attr::custom_call_target, target)},
                operand->shape());
}

}  // namespace

std::vector<Attribute> buffer_attributes(Builder& b, std::string_view target) {
  const std::vector<Alias> alias = {{{}, 0, {}, {}}};
  return {make_attribute(attr::custom_call_target, target),
          make_attribute(attr::output_to_operand_aliasing, b.arena().copy(alias))};
}

Instruction* make_custom_call(Builder& b, Opcode opcode) {
  if (b.runnable()) return make_known_custom_call(b, opcode);
  if (!b.scope->pure && b.choices.chance(10)) {
    // An array becomes a buffer, which finish_one() makes an array again.
    Instruction* pinned = b.array(b.types(), 1);
    if (!pinned) return nullptr;
    const Shape* bare = b.shapes().array(pinned->shape()->element_type(), pinned->shape()->dims());
    return b.emit_start(opcode, std::span(&pinned, 1), buffer_attributes(b, "Pin"),
                        b.shapes().buffer(bare));
  }
  const std::vector<Instruction*> operands = any_values(b, 0, 3);
  const Shape* result = b.scope->pure ? b.array_shape(b.types()) : b.any_shape();
  if (!operands.empty() && b.choices.chance(25)) result = operands[0]->shape();
  Choices& choices = b.choices;
  std::vector<Attribute> attributes = {
      make_attribute(attr::custom_call_target, choices.chance(50) ? b.word() : b.hostile_text())};
  if (choices.chance(15)) {
    std::vector<WindowDimension> window(2);
    window[0].size = 3;
    window[1].padding_low = -1;
    attributes.push_back(make_attribute(attr::window, b.arena().copy(window)));
    attributes.push_back(make_attribute(attr::dim_labels, "b01f_01io->b01f"));
    attributes.push_back(make_attribute(attr::feature_group_count, choices.between(1, 4)));
    attributes.push_back(make_attribute(attr::batch_group_count, choices.between(1, 4)));
  }
  if (choices.chance(15) && !operands.empty()) {
    std::vector<std::string_view> words(operands.size(), "highest");
    words.back() = "default";
    if (words.size() > 1) {
      attributes.push_back(make_attribute(attr::operand_precision, b.arena().copy(words)));
    }
  }
  if (choices.chance(15)) {
    attributes.push_back(make_attribute(attr::padding_type,
                                        choices.pick({PaddingType::kValid, PaddingType::kSame})));
  }
  if (choices.chance(20))
    attributes.push_back(make_attribute(attr::custom_call_has_side_effect, true));
  if (choices.chance(15)) {
    attributes.push_back(make_attribute(attr::literal, b.literal(b.array_shape(b.types()))));
  }
  if (choices.chance(15)) {
    attributes.push_back(
        make_attribute(attr::schedule,
                       choices.pick({CustomCallSchedule::kLatest, CustomCallSchedule::kEarliest})));
  }
  if (choices.chance(40)) {
    attributes.push_back(make_attribute(attr::api_version,
                                        choices.pick({CustomCallApiVersion::kStatusReturning,
                                                      CustomCallApiVersion::kStatusReturningUnified,
                                                      CustomCallApiVersion::kTypedFfi})));
  }
  if (choices.chance(15) && b.scope->depth < 2) {
    std::vector<Computation*> called;
    for (int64_t i = choices.between(1, 2); i > 0; --i) {
      called.push_back(b.reducer({choices.pick(b.types())}));
    }
    attributes.push_back(make_attribute(attr::called_computations, b.arena().copy(called)));
  }
  // A constraint for each operand, all of them arrays with layouts.
  const bool arrays =
      result->is_array() && std::ranges::all_of(operands, [](const Instruction* one) {
        return one->shape()->is_array();
      });
  if (arrays && choices.chance(25)) {
    attributes.push_back(
        make_attribute(attr::operand_layout_constraints, b.arena().copy(shapes_of(operands))));
  }
  add_aliasing(b, operands, result, attributes);
  return b.emit(opcode, operands, attributes, result);
}

}  // namespace minihlo::generator
