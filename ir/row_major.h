// Indices of arrays whose elements follow one another in row-major order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace minihlo {

/// The number of elements of an array of these dimensions, their product. Requires that it fits.
inline int64_t element_count(std::span<const int64_t> dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

/// The product of positive numbers; nothing where one is not positive or it does not fit.
inline std::optional<int64_t> positive_product(std::span<const int64_t> values) {
  int64_t product = 1;
  for (int64_t value : values) {
    if (value <= 0 || __builtin_mul_overflow(product, value, &product)) return std::nullopt;
  }
  return product;
}

/// Whether `order` names each of `rank` axes once.
inline bool is_permutation(std::span<const int64_t> order, size_t rank) {
  if (order.size() != rank) return false;
  std::vector<bool> seen(rank, false);
  for (int64_t axis : order) {
    if (axis < 0 || axis >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(axis)]) {
      return false;
    }
    seen[static_cast<size_t>(axis)] = true;
  }
  return true;
}

/// How many elements apart neighbours along each dimension are. Requires that the array's elements
/// can be counted.
inline std::vector<int64_t> row_major_strides(std::span<const int64_t> dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

/// The index along each dimension of element number `index`. Requires an array that has it.
inline std::vector<int64_t> multi_index(int64_t index, std::span<const int64_t> dims) {
  std::vector<int64_t> result(dims.size());
  for (size_t axis = dims.size(); axis-- > 0;) {
    result[axis] = index % dims[axis];
    index /= dims[axis];
  }
  return result;
}

/// The number of the element at an index along each dimension.
inline int64_t linear_index(std::span<const int64_t> index, std::span<const int64_t> dims) {
  int64_t result = 0;
  for (size_t axis = 0; axis < dims.size(); ++axis) result = result * dims[axis] + index[axis];
  return result;
}

}  // namespace minihlo
