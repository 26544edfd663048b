// Small matrices turned in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

namespace minihlo {
namespace internal {

// What lanes of as many bytes hold.
template <size_t bytes>
using Lane = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

// The first halves of two vectors of 16 bytes (the second halves if kHigh), element by element in
// turn.
template <bool kHigh, class Vector, size_t... i>
Vector interleave(Vector a, Vector b, std::index_sequence<i...>) {
  constexpr size_t kLanes = sizeof...(i);
  return __builtin_shufflevector(a, b, (i / 2 + i % 2 * kLanes + kHigh * kLanes / 2)...);
}

// to[c][r] = from[r][c] of as many rows and columns as a vector has elements: each of log2 of them
// rounds of interleaving turns the index of an element, row before column, round by one bit.
template <class T>
void transpose_vectors(const T* from, int64_t from_stride, T* to, int64_t to_stride) {
  typedef Lane<sizeof(T)> Vector __attribute__((vector_size(16)));
  constexpr size_t kLanes = 16 / sizeof(T);
  constexpr std::make_index_sequence<kLanes> kIndices;
  Vector rows[kLanes], next[kLanes];
  for (size_t i = 0; i < kLanes; ++i) {
    std::memcpy(&rows[i], from + static_cast<int64_t>(i) * from_stride, sizeof(Vector));
  }
  for (size_t done = 1; done < kLanes; done *= 2) {
    for (size_t i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = interleave<false>(rows[i], rows[i + kLanes / 2], kIndices);
      next[2 * i + 1] = interleave<true>(rows[i], rows[i + kLanes / 2], kIndices);
    }
    for (size_t i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
  for (size_t i = 0; i < kLanes; ++i) {
    std::memcpy(to + static_cast<int64_t>(i) * to_stride, &rows[i], sizeof(Vector));
  }
}

}  // namespace internal

/// to[c * to_stride + r] = from[r * from_stride + c] for each of `rows` rows r and `columns`
/// columns c. T: a trivial type of up to 16 bytes.
template <class T>
__attribute__((noinline)) void transpose_tile(const T* from, int64_t from_stride, int64_t rows,
                                              int64_t columns, T* to, int64_t to_stride) {
  int64_t whole_rows = 0, whole_columns = 0;
  if constexpr (sizeof(T) <= 8) {
    constexpr int64_t kLanes = 16 / sizeof(T);
    whole_rows = rows / kLanes * kLanes;
    whole_columns = columns / kLanes * kLanes;
    for (int64_t r = 0; r < whole_rows; r += kLanes) {
      for (int64_t c = 0; c < whole_columns; c += kLanes) {
        internal::transpose_vectors(from + r * from_stride + c, from_stride, to + c * to_stride + r,
                                    to_stride);
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      to[c * to_stride + r] = from[r * from_stride + c];
    }
  }
}

}  // namespace minihlo
