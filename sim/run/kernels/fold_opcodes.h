// The common reducers as functions on elements.
#pragma once

#include <concepts>
#include <type_traits>

#include "ir/numbers.h"
#include "ir/opcode.h"
#include "ir/semantics/elementwise_arithmetic.h"
#include "ir/semantics/elementwise_bits.h"

namespace minihlo {

/// What elements of T are computed in.
template <class T>
using FoldedAs = std::conditional_t<IsMiniFloat<T>::value, float, T>;

/// Whether a reducer takes elements of T.
template <class Function, class T>
concept folds = std::invocable<const Function&, FoldedAs<T>, FoldedAs<T>>;

/// Calls `use` with the type of the function of a common reducer; not at all for other opcodes.
template <class Use>
void with_fold_function(Opcode opcode, Use use) {
  switch (opcode) {
    case Opcode::kAdd:
      return use(std::type_identity<elementwise::Add>{});
    case Opcode::kMultiply:
      return use(std::type_identity<elementwise::Multiply>{});
    case Opcode::kMaximum:
      return use(std::type_identity<elementwise::Maximum>{});
    case Opcode::kMinimum:
      return use(std::type_identity<elementwise::Minimum>{});
    case Opcode::kAnd:
      return use(std::type_identity<elementwise::And>{});
    case Opcode::kOr:
      return use(std::type_identity<elementwise::Or>{});
    default:
      return;
  }
}

}  // namespace minihlo
