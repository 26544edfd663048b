// Operands: values that are there, or new ones.
#include <algorithm>

#include "tests/generator/builder.h"

namespace minihlo::generator {
namespace {

// Larger arrays are broadcast from a constant rather than listed.
constexpr int64_t kListed = 48;

bool contains(const Types& types, ElementType type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

}  // namespace

Instruction* Builder::parameter(const Shape* shape) {
  const auto number = static_cast<int64_t>(scope->computation->parameters().size());
  std::vector<Attribute> attributes = {make_attribute(attr::parameter_number, number)};
  Instruction* made = append(Opcode::kParameter, shape, {}, attributes);
  scope->values.push_back(made);
  return made;
}

Instruction* Builder::constant(const Shape* shape) {
  return emit(Opcode::kConstant, {}, {make_attribute(attr::literal_value, literal(shape))}, shape);
}

Instruction* Builder::constant(ElementType type, std::vector<int64_t> dims,
                               std::vector<int64_t> values) {
  const Shape* shape = shapes().array(type, dims);
  return emit(Opcode::kConstant, {}, {make_attribute(attr::literal_value, literal(shape, values))},
              shape);
}

Instruction* Builder::index(ElementType type, int64_t bound) {
  if (choices.chance(25)) return scalar(type);
  if (choices.chance(80))
    return constant(type, {}, {choices.between(0, std::max<int64_t>(bound, 0))});
  return constant(type, {}, {choices.between(is_signed(type) ? -2 : 0, bound + 3)});
}

Instruction* Builder::leaf(const Shape* shape) {
  if (scope->takes_parameters && !shape->is_token() && choices.chance(50)) return parameter(shape);
  switch (shape->kind()) {
    case Shape::Kind::kToken:
      return emit(Opcode::kAfterAll, {});
    case Shape::Kind::kTuple: {
      std::vector<Instruction*> elements;
      for (const Shape* element : shape->elements()) elements.push_back(value(element));
      return emit(Opcode::kTuple, elements);
    }
    case Shape::Kind::kOpaque:
    case Shape::Kind::kBuffer:
    case Shape::Kind::kArray:
      break;
  }
  if (!shape->is_array() || shape->is_dynamic()) {
    return emit(Opcode::kCustomCall, {}, {make_attribute(attr::custom_call_target, "make")}, shape);
  }
  if (shape->rank() > 0 && shape->element_type() != ElementType::PRED && choices.chance(15)) {
    return emit(Opcode::kIota, {},
                {make_attribute(attr::iota_dimension, choices.below(shape->rank()))}, shape);
  }
  if (shape->element_count() <= kListed) return constant(shape);
  return emit(Opcode::kBroadcast, {constant(shapes().scalar(shape->element_type()))},
              {make_attribute(attr::dimensions, {})}, shape);
}

Instruction* Builder::any_value() {
  if (!scope->values.empty() && !choices.chance(15)) return choices.pick(scope->values);
  return value(scope->pure ? array_shape(types()) : any_shape());
}

Instruction* Builder::array(const Types& types, int64_t min_rank, int64_t max_rank, bool dynamic) {
  if (types.empty()) return nullptr;
  if (!choices.chance(20)) {
    std::vector<Instruction*> fit;
    for (Instruction* one : scope->values) {
      const Shape* shape = one->shape();
      if (shape->is_array() && shape->rank() >= min_rank && shape->rank() <= max_rank &&
          (dynamic || !shape->is_dynamic()) && contains(types, shape->element_type())) {
        fit.push_back(one);
      }
    }
    if (!fit.empty()) return choices.pick(fit);
  }
  return leaf(array_shape(types, min_rank, max_rank));
}

Instruction* Builder::value(const Shape* shape) {
  if (!choices.chance(15)) {
    std::vector<Instruction*> fit;
    for (Instruction* one : scope->values) {
      if (compatible(one->shape(), shape)) fit.push_back(one);
    }
    if (!fit.empty()) return choices.pick(fit);
  }
  return leaf(shape);
}

}  // namespace minihlo::generator
