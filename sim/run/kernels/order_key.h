// Total orders of elements as orders of integers.
#pragma once

#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/element_type.h"
#include "ir/numbers.h"

namespace minihlo {

/// A number that orders the values of a type that is not complex: -NaN first, NaN last, -0 before
/// +0. It has as many bits as the type; where that is less than 64, as an int64_t. The one NaN of
/// an fnuz type comes last.
template <class T>
auto order_key(T value) {
  if constexpr (std::is_floating_point_v<T> || IsMiniFloat<T>::value) {
    constexpr int kBits = info(element_type_of<T>).bits;
    int64_t bits = 0;
    std::memcpy(&bits, &value, sizeof(T));
    if constexpr (IsMiniFloat<T>::value) {
      // The one NaN of such a type is where -0 would be, and counts as a positive one.
      if (T::kKind == FloatKind::kFnuz && bits == T::kNaN) return int64_t{1} << kBits;
    }
    if constexpr (std::is_same_v<T, F8E8M0FNU>) {
      return bits;
    } else if constexpr (kBits == 64) {
      return bits < 0 ? bits ^ std::numeric_limits<int64_t>::max() : bits;
    } else {
      constexpr int64_t kSign = int64_t{1} << (kBits - 1);
      return bits & kSign ? -(bits & (kSign - 1)) - 1 : bits;
    }
  } else if constexpr (std::is_same_v<T, uint64_t>) {
    return value;
  } else {
    return static_cast<int64_t>(value);
  }
}

/// The same as an unsigned number, of at least as many bits as the type.
template <class Number, class T>
Number order_number(T value) {
  constexpr Number kHalf = Number{1} << (8 * sizeof(Number) - 1);
  return static_cast<Number>(order_key(value)) + (is_unsigned(element_type_of<T>) ? 0 : kHalf);
}

/// The type of the numbers that order the values of a type.
template <class T>
using OrderNumber = std::conditional_t<(info(element_type_of<T>).bits > 32), uint64_t, uint32_t>;

}  // namespace minihlo
