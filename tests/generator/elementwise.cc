#include <algorithm>

#include "tests/generator/rules.h"

namespace minihlo::generator {
namespace {

// `count` operands of one shape, of types that the opcode takes.
std::vector<Instruction*> alike(Builder& b, const Types& types, size_t count) {
  std::vector<Instruction*> operands = {b.array(types, 0, 5, !b.runnable())};
  while (operands[0] && operands.size() < count) operands.push_back(b.value(operands[0]->shape()));
  return operands;
}

}  // namespace

Instruction* make_elementwise(Builder& b, Opcode opcode) {
  const auto count = static_cast<size_t>(info(opcode).min_operands);
  Types types = b.types_of(opcode, count);
  // XLA's evaluator has no meaning for these, and no run takes them.
  if (b.runnable() && (opcode == Opcode::kAtan2 || opcode == Opcode::kRemainder)) {
    std::erase_if(types, is_complex);
  }
  // XLA's CPU backend looks at the lowest six bits of an integer's exponent only.
  if (b.oracle() && opcode == Opcode::kPower) std::erase_if(types, is_integer);
  return b.emit(opcode, alike(b, types, count));
}

Instruction* make_compare(Builder& b, Opcode opcode) {
  using Direction = ComparisonDirection;
  const std::vector<Instruction*> operands = alike(b, b.types(), 2);
  if (!operands[0]) return nullptr;
  const ElementType type = operands[0]->shape()->element_type();
  std::vector<Attribute> attributes = {make_attribute(
      attr::direction, is_complex(type)
                           ? b.choices.pick({Direction::kEq, Direction::kNe})
                           : b.choices.pick({Direction::kLt, Direction::kEq, Direction::kNe,
                                             Direction::kGe, Direction::kGt, Direction::kLe}))};
  if (b.choices.chance(30)) {
    using Type = ComparisonType;
    // What the sign of a NaN is that arithmetic made, HLO leaves open.
    const bool total = is_float(type) && !b.oracle() && b.choices.chance(60);
    const Type order = total                                ? Type::kTotalOrder
                       : is_float(type) || is_complex(type) ? Type::kFloat
                       : is_signed(type)                    ? Type::kSigned
                                                            : Type::kUnsigned;
    attributes.push_back(make_attribute(attr::comparison_type, order));
  }
  if (b.newest() && b.choices.chance(20)) {
    const bool partial = (is_float(type) || is_complex(type)) && b.choices.chance(50);
    attributes.push_back(make_attribute(
        attr::comparison_order, partial ? ComparisonOrder::kPartial : ComparisonOrder::kTotal));
  }
  return b.emit(opcode, operands, attributes);
}

Instruction* make_clamp(Builder& b, Opcode opcode) {
  const std::vector<Instruction*> x = alike(b, b.types_of(opcode, 3), 1);
  if (!x[0]) return nullptr;
  auto bound = [&] {
    return b.choices.chance(50) ? b.scalar(x[0]->shape()->element_type()) : b.value(x[0]->shape());
  };
  Instruction* low = bound();
  return b.emit(opcode, {low, x[0], bound()});
}

Instruction* make_select(Builder& b, Opcode opcode) {
  const std::vector<Instruction*> both = alike(b, b.types(), 2);
  if (!both[0]) return nullptr;
  Instruction* test = b.choices.chance(40)
                          ? b.scalar(ElementType::PRED)
                          : b.value(b.with_type(both[0]->shape(), ElementType::PRED));
  return b.emit(opcode, {test, both[0], both[1]});
}

Instruction* make_convert(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types(), 0, 5, !b.runnable());
  if (!from) return nullptr;
  ElementType to = b.choices.pick(b.types());
  // A complex number has no one real value.
  if (is_complex(from->shape()->element_type()) && !is_complex(to)) to = ElementType::C128;
  return b.emit(opcode, {from}, {}, b.with_type(from->shape(), to));
}

Instruction* make_reduce_precision(Builder& b, Opcode opcode) {
  Instruction* from = b.array(b.types_of({ElementKind::kFloat}));
  if (!from) return nullptr;
  return b.emit(opcode, {from},
                {make_attribute(attr::exponent_bits, b.choices.between(2, 11)),
                 make_attribute(attr::mantissa_bits, b.choices.between(1, 23))},
                from->shape());
}

Instruction* make_stochastic_convert(Builder& b, Opcode opcode) {
  Instruction* from = b.array({ElementType::F32, ElementType::F64, ElementType::F16});
  if (!from) return nullptr;
  const int bits = info(from->shape()->element_type()).bits;
  Types random = b.types_of({ElementKind::kUnsigned});
  std::erase_if(random, [&](ElementType type) { return info(type).bits != bits; });
  Instruction* noise = b.value(b.with_type(from->shape(), b.choices.pick(random)));
  return b.emit(opcode, {from, noise}, {},
                b.with_type(from->shape(), b.choices.pick(b.types_of({ElementKind::kSigned}))));
}

}  // namespace minihlo::generator
