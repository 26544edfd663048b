// Structure, identity and random numbers.
#include "tests/generator/rules.h"

namespace minihlo::generator {

Instruction* make_parameter(Builder& b, Opcode) { return b.parameter(b.any_shape()); }

Instruction* make_constant(Builder& b, Opcode) {
  if (b.choices.chance(10)) {
    return b.constant(b.tuple({b.array_shape(b.types()), b.array_shape(b.types())}));
  }
  const Shape* shape = b.array_shape(b.types());
  if (b.runnable() || shape->rank() == 0 || !b.choices.chance(10)) return b.constant(shape);
  Literal elided;
  elided.shape = shape;
  elided.form = Literal::Form::kElided;
  return b.emit(Opcode::kConstant, {},
                {make_attribute(attr::literal_value, b.arena().make<Literal>(elided))}, shape);
}

Instruction* make_tuple(Builder& b, Opcode opcode) {
  std::vector<Instruction*> elements;
  for (int64_t i = b.choices.pick({2, 1, 3, 0, 7}); i > 0; --i) elements.push_back(b.any_value());
  return b.emit(opcode, elements);
}

Instruction* make_get_tuple_element(Builder& b, Opcode opcode) {
  std::vector<Instruction*> tuples;
  for (Instruction* one : b.scope->values) {
    if (one->shape()->is_tuple() && !one->shape()->elements().empty()) tuples.push_back(one);
  }
  Instruction* tuple = nullptr;
  if (tuples.empty()) {
    tuple = b.emit(Opcode::kTuple, {b.any_value(), b.any_value()});
  } else {
    tuple = b.choices.pick(tuples);
  }
  if (!tuple) return nullptr;
  const auto count = static_cast<int64_t>(tuple->shape()->elements().size());
  return b.emit(opcode, {tuple}, {make_attribute(attr::index, b.choices.below(count))});
}

Instruction* make_after_all(Builder& b, Opcode opcode) {
  std::vector<Instruction*> tokens;
  for (int64_t i = b.choices.below(3); i > 0; --i) tokens.push_back(b.token());
  return b.emit(opcode, tokens);
}

Instruction* make_add_dependency(Builder& b, Opcode opcode) {
  return b.emit(opcode, {b.array(b.types()), b.token()});
}

// copy and opt-barrier.
Instruction* make_same(Builder& b, Opcode opcode) {
  std::vector<Attribute> attributes;
  if (opcode == Opcode::kCopy && b.newest() && b.choices.chance(10)) {
    attributes.push_back(make_attribute(attr::cross_program_prefetch_index, b.choices.below(3)));
  }
  Instruction* operand = b.any_value();
  if (opcode == Opcode::kCopy && (!operand || !operand->shape()->is_array())) {
    operand = b.array(b.types());
  }
  return b.emit(opcode, {operand}, attributes);
}

Instruction* make_domain(Builder& b, Opcode opcode) {
  Instruction* operand = b.array(b.types());
  if (!operand) return nullptr;
  const DomainValue value = {"sharding", b.sharding(operand->shape()),
                             b.sharding(operand->shape())};
  return b.emit(opcode, {operand},
                {make_attribute(attr::domain, b.arena().make<DomainValue>(value))});
}

Instruction* make_own_id(Builder& b, Opcode opcode) { return b.emit(opcode, {}); }

Instruction* make_rng(Builder& b, Opcode opcode) {
  const bool normal = b.choices.chance(40);
  const Types types = normal ? b.types_of({ElementKind::kFloat})
                             : b.types_of({ElementKind::kFloat, ElementKind::kSigned});
  const Shape* shape = b.array_shape(types);
  Instruction* low = b.scalar(shape->element_type());
  return b.emit(opcode, {low, b.scalar(shape->element_type())},
                {make_attribute(attr::distribution, normal ? RandomDistribution::kNormal
                                                           : RandomDistribution::kUniform)},
                shape);
}

Instruction* make_rng_bit_generator(Builder& b, Opcode opcode) {
  const auto algorithm = b.choices.pick(
      {RandomAlgorithm::kDefault, RandomAlgorithm::kThreeFry, RandomAlgorithm::kPhilox});
  const int64_t words =
      algorithm == RandomAlgorithm::kThreeFry ? 2 : b.choices.pick({int64_t{2}, int64_t{3}});
  Instruction* state = b.value(b.shapes().array(ElementType::U64, {{words}}));
  if (!state) return nullptr;
  const Types types = b.oracle() ? Types{ElementType::U32, ElementType::U64}
                                 : Types{ElementType::U32, ElementType::U64, ElementType::U8,
                                         ElementType::S32, ElementType::U16};
  return b.emit(opcode, {state}, {make_attribute(attr::rng_algorithm, algorithm)},
                b.tuple({state->shape(), b.array_shape(types)}));
}

Instruction* make_rng_state(Builder& b, Opcode opcode) {
  return b.emit(opcode, {}, {make_attribute(attr::delta, b.choices.between(1, 9))});
}

}  // namespace minihlo::generator
