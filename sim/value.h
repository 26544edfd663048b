// Values of a walk: device vectors of arrays, and tuples of them.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "ir/shape.h"

namespace minihlo {

/// A device vector of an array (or token), or a tuple of values.
template <class Array>
struct Value {
  Array array{};
  std::shared_ptr<std::vector<Value>> elements;  // of tuples

  bool is_tuple() const { return elements != nullptr; }
};

template <class Array>
Value<Array> tuple_value(std::vector<Value<Array>> elements) {
  return {Array{}, std::make_shared<std::vector<Value<Array>>>(std::move(elements))};
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
  if (!shape->is_tuple()) return {std::move(*next++), nullptr};
  std::vector<Value<Array>> elements;
  elements.reserve(shape->elements().size());
  for (const Shape* element : shape->elements()) {
    elements.push_back(value_from_leaves<Array>(element, next));
  }
  return tuple_value(std::move(elements));
}

/// A value of `shape` that has none: contexts of asynchronous work, which nobody looks into.
template <class Array>
Value<Array> unset_value(const Shape* shape) {
  if (!shape->is_tuple()) return {};
  std::vector<Value<Array>> elements;
  for (const Shape* element : shape->elements()) elements.push_back(unset_value<Array>(element));
  return tuple_value(std::move(elements));
}

/// `function` of every leaf, in the same tuples.
template <class Array, class Function>
Value<Array> map_leaves(const Value<Array>& value, const Function& function) {
  if (!value.is_tuple()) return {function(value.array), nullptr};
  std::vector<Value<Array>> elements;
  elements.reserve(value.elements->size());
  for (const Value<Array>& element : *value.elements) {
    elements.push_back(map_leaves(element, function));
  }
  return tuple_value(std::move(elements));
}

/// An operand of an instruction. Where `last` is set nobody reads it afterwards: its memory may be
/// taken over.
template <class Array>
struct Operand {
  Array* array;
  bool last;
};

}  // namespace minihlo
