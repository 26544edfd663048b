// Computations on scalars: reducers, comparators, functions that map calls.
#include <algorithm>

#include "tests/generator/builder.h"

namespace minihlo::generator {
namespace {

bool takes(Builder& b, Opcode opcode, size_t operands, ElementType type) {
  const Types types = b.types_of(opcode, operands);
  return std::find(types.begin(), types.end(), type) != types.end();
}

std::vector<const Shape*> scalars(Builder& b, const Types& types) {
  std::vector<const Shape*> all;
  for (ElementType type : types) all.push_back(b.shapes().scalar(type));
  return all;
}

// An opcode of the list that combines two scalars of a type. There is one for every type.
// Arithmetic ones are those that collectives of XLA's CPU backend do as HLO says: its maximum and
// minimum drop NaN.
Opcode combiner(Builder& b, ElementType type, bool arithmetic = false) {
  std::vector<Opcode> fit;
  for (Opcode opcode : {Opcode::kAdd, Opcode::kMaximum, Opcode::kMinimum, Opcode::kMultiply,
                        Opcode::kAnd, Opcode::kOr, Opcode::kXor}) {
    const bool drops_nan =
        is_float(type) && (opcode == Opcode::kMaximum || opcode == Opcode::kMinimum);
    if (arithmetic && drops_nan) continue;
    if (takes(b, opcode, 2, type)) fit.push_back(opcode);
    if (arithmetic && opcode == Opcode::kMultiply) break;
  }
  return b.choices.pick(fit);
}

}  // namespace

Computation* Builder::reducer(const Types& types, bool arithmetic) {
  Types all = types;
  all.insert(all.end(), types.begin(), types.end());
  Scope place = nested();
  place.pure = true;
  return computation("reducer", scalars(*this, all), place, [&] {
    std::span<Instruction* const> parameters = scope->computation->parameters();
    const size_t n = types.size();
    std::vector<Instruction*> results;
    for (size_t i = 0; i < n; ++i) {
      Instruction *first = parameters[i], *second = parameters[n + i];
      if (choices.chance(30)) std::swap(first, second);
      results.push_back(emit(combiner(*this, types[i], arithmetic), {first, second}));
    }
    return n == 1 ? results[0] : emit(Opcode::kTuple, results);
  });
}

Computation* Builder::comparator(const Types& types) {
  Types all;
  for (ElementType type : types) all.insert(all.end(), 2, type);
  Scope place = nested();
  place.pure = true;
  return computation("comparator", scalars(*this, all), place, [&] {
    const auto key = 2 * static_cast<size_t>(choices.below(static_cast<int64_t>(types.size())));
    std::span<Instruction* const> parameters = scope->computation->parameters();
    Instruction *left = parameters[key], *right = parameters[key + 1];
    if (is_complex(types[key / 2])) {
      left = emit(Opcode::kReal, {left});
      right = emit(Opcode::kReal, {right});
    }
    std::vector<Attribute> attributes = {make_attribute(
        attr::direction, choices.pick({ComparisonDirection::kLt, ComparisonDirection::kGt}))};
    // The sign of a NaN that arithmetic makes is nobody's to know.
    if (is_float(left->shape()->element_type()) && !oracle() && choices.chance(30)) {
      attributes.push_back(make_attribute(attr::comparison_type, ComparisonType::kTotalOrder));
    }
    return emit(Opcode::kCompare, {left, right}, attributes);
  });
}

Computation* Builder::scalar_function(const Types& parameters, ElementType result) {
  Scope place = nested();
  place.pure = true;
  return computation("function", scalars(*this, parameters), place, [&] {
    Instruction* last = scope->computation->parameters()[0];
    for (Instruction* parameter : scope->computation->parameters()) {
      const ElementType type = parameter->shape()->element_type();
      if (last->shape()->element_type() != type) continue;
      last = emit(combiner(*this, type), {last, parameter});
    }
    const Opcode unary = choices.pick({Opcode::kNegate, Opcode::kAbs, Opcode::kSign});
    if (takes(*this, unary, 1, last->shape()->element_type()) && choices.chance(50)) {
      last = emit(unary, {last});
    }
    if (is_complex(last->shape()->element_type()) && !is_complex(result)) {
      last = emit(Opcode::kReal, {last});
    }
    if (last->shape()->element_type() == result) return last;
    return emit(Opcode::kConvert, {last}, {}, shapes().scalar(result));
  });
}

}  // namespace minihlo::generator
