// Calls of elementwise opcodes on vectors of values.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "ir/numbers.h"
#include "ir/semantics/elementwise.h"

namespace minihlo::testing {

template <class T>
const std::byte* bytes(const std::vector<T>& values) {
  return reinterpret_cast<const std::byte*>(values.data());
}

inline ElementwiseOp lookup(Opcode opcode, std::vector<ElementType> operands, ElementType result,
                            std::vector<Attribute> attributes = {}) {
  auto op = elementwise_op(ElementwiseSignature{opcode, operands, result, attributes});
  REQUIRE_MESSAGE(op.has_value(), op.error());
  return *op;
}

inline std::string refusal(Opcode opcode, std::vector<ElementType> operands, ElementType result,
                           std::vector<Attribute> attributes = {}) {
  auto op = elementwise_op(ElementwiseSignature{opcode, operands, result, attributes});
  return op ? "" : op.error();
}

template <class R, class... Ts>
std::vector<R> apply(const ElementwiseOp& op, const std::vector<Ts>&... operands) {
  const size_t count = std::max({operands.size()...});
  std::vector<R> result(count);
  const std::byte* const pointers[] = {bytes(operands)...};
  const int64_t steps[] = {operands.size() == 1 ? 0 : 1 ...};
  op(static_cast<int64_t>(count), pointers, steps, reinterpret_cast<std::byte*>(result.data()));
  return result;
}

template <class T>
std::vector<T> unary(Opcode opcode, const std::vector<T>& a,
                     std::vector<Attribute> attributes = {}) {
  return apply<T>(lookup(opcode, {element_type_of<T>}, element_type_of<T>, attributes), a);
}

template <class T>
std::vector<T> binary(Opcode opcode, const std::vector<T>& a, const std::vector<T>& b) {
  return apply<T>(lookup(opcode, {element_type_of<T>, element_type_of<T>}, element_type_of<T>), a,
                  b);
}

template <class To, class From>
std::vector<To> convert(const std::vector<From>& a) {
  return apply<To>(lookup(Opcode::kConvert, {element_type_of<From>}, element_type_of<To>), a);
}

template <class T>
std::vector<uint64_t> bit_patterns(const std::vector<T>& values) {
  std::vector<uint64_t> result(values.size());
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&result[i], &values[i], sizeof(T));
  return result;
}

inline std::vector<Attribute> fields(int64_t exponent_bits, int64_t mantissa_bits) {
  return {make_attribute(attr::exponent_bits, exponent_bits),
          make_attribute(attr::mantissa_bits, mantissa_bits)};
}

}  // namespace minihlo::testing
