// Values of a walk: device vectors of arrays, and tuples of them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ir/instruction.h"
#include "ir/shape.h"

namespace minihlo {

/// A device vector of an array (or token), or a tuple of values.
template <class Array>
struct Value {
  Array array{};
  std::shared_ptr<std::vector<Value>> elements;  // of tuples
  /// Of work that is under way, and of the parts of it that have no value yet: what began it.
  const Instruction* begun = nullptr;

  bool is_tuple() const { return elements != nullptr; }

  /// What began the work that this stands for, or null.
  const Instruction* begun_by() const {
    if (begun || !elements) return begun;
    for (const Value& element : *elements) {
      if (element.begun) return element.begun;
    }
    return nullptr;
  }
};

template <class Array>
Value<Array> tuple_value(std::vector<Value<Array>> elements) {
  return {Array{}, std::make_shared<std::vector<Value<Array>>>(std::move(elements)), nullptr};
}

/// The leaves of a value, in order.
template <class Array>
void append_leaves(const Value<Array>& value, std::vector<Array>& leaves) {
  if (!value.is_tuple()) {
    leaves.push_back(value.array);
    return;
  }
  for (const Value<Array>& element : *value.elements) append_leaves(element, leaves);
}

/// The value of `shape` whose leaves are those from *next on, which is moved behind them.
template <class Array>
Value<Array> value_from_leaves(const Shape* shape, Array*& next) {
  if (!shape->is_tuple()) return {std::move(*next++), nullptr, nullptr};
  std::vector<Value<Array>> elements;
  elements.reserve(shape->elements().size());
  for (const Shape* element : shape->elements()) {
    elements.push_back(value_from_leaves<Array>(element, next));
  }
  return tuple_value(std::move(elements));
}

/// A value of `shape` that has none: contexts of the asynchronous work that `begun` began, which
/// nobody looks into.
template <class Array>
Value<Array> unset_value(const Shape* shape, const Instruction* begun) {
  if (!shape->is_tuple()) return {Array{}, nullptr, begun};
  std::vector<Value<Array>> elements;
  for (const Shape* element : shape->elements()) {
    elements.push_back(unset_value<Array>(element, begun));
  }
  return {Array{}, std::make_shared<std::vector<Value<Array>>>(std::move(elements)), begun};
}

/// `function` of every leaf, in the same tuples.
template <class Array, class Function>
Value<Array> map_leaves(const Value<Array>& value, const Function& function) {
  if (!value.is_tuple()) return {function(value.array), nullptr, value.begun};
  std::vector<Value<Array>> elements;
  elements.reserve(value.elements->size());
  for (const Value<Array>& element : *value.elements) {
    elements.push_back(map_leaves(element, function));
  }
  Value<Array> result = tuple_value(std::move(elements));
  result.begun = value.begun;
  return result;
}

/// An operand of an instruction. Where `last` is set nobody reads it afterwards: its memory may be
/// taken over.
template <class Array>
struct Operand {
  Array* array;
  bool last;
};

}  // namespace minihlo
