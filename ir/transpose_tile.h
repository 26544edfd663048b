// Small matrices turned in registers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "ir/vector_code.h"

namespace minihlo {
namespace internal {

// What lanes of as many bytes hold.
template <size_t bytes>
using Lane = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

// Vectors of elements of T: of one part of 16 bytes, and of kParts of them.
template <class T, size_t kParts>
struct Parts {
  typedef Lane<sizeof(T)> Part __attribute__((vector_size(16)));
  typedef Lane<sizeof(T)> Whole __attribute__((vector_size(16 * kParts)));
  static constexpr size_t kLanes = 16 / sizeof(T);  // of a part
};

// In each part the first halves of two vectors (the second halves if kHigh), element by element in
// turn.
template <bool kHigh, size_t kLanes, class Vector, size_t... i>
MINIHLO_ALWAYS_INLINE inline void interleave(const Vector& a, const Vector& b, Vector& result,
                                             std::index_sequence<i...>) {
  constexpr size_t kCount = sizeof...(i);
  result = __builtin_shufflevector(
      a, b, (i / kLanes * kLanes + i % kLanes / 2 + i % 2 * kCount + kHigh * kLanes / 2)...);
}

template <class Vector, class Part, size_t... i>
MINIHLO_ALWAYS_INLINE inline void join(const Part& a, const Part& b, Vector& result,
                                       std::index_sequence<i...>) {
  result = __builtin_shufflevector(a, b, i...);
}

// to[c][r] = from[r][c] for as many columns as a part has elements, and kParts times as many rows:
// each of log2 of the columns rounds of interleaving turns the index of an element within its part,
// row before column, round by one bit.
template <size_t kParts, class T>
MINIHLO_ALWAYS_INLINE inline void transpose_vectors(const T* from, int64_t from_stride, T* to,
                                                    int64_t to_stride) {
  using Part = typename Parts<T, kParts>::Part;
  using Whole = typename Parts<T, kParts>::Whole;
  constexpr size_t kLanes = Parts<T, kParts>::kLanes;
  constexpr std::make_index_sequence<kLanes * kParts> kIndices;
  static_assert(kParts == 1 || kParts == 2);
  Whole rows[kLanes], next[kLanes];
  MINIHLO_UNROLLED
  for (size_t i = 0; i < kLanes; ++i) {
    Part parts[kParts];
    MINIHLO_UNROLLED
    for (size_t p = 0; p < kParts; ++p) {
      std::memcpy(&parts[p], from + static_cast<int64_t>(i + p * kLanes) * from_stride,
                  sizeof(Part));
    }
    if constexpr (kParts == 1) {
      rows[i] = parts[0];
    } else {
      join(parts[0], parts[1], rows[i], kIndices);
    }
  }
  MINIHLO_UNROLLED
  for (size_t done = 1; done < kLanes; done *= 2) {
    MINIHLO_UNROLLED
    for (size_t i = 0; i < kLanes / 2; ++i) {
      interleave<false, kLanes>(rows[i], rows[i + kLanes / 2], next[2 * i], kIndices);
      interleave<true, kLanes>(rows[i], rows[i + kLanes / 2], next[2 * i + 1], kIndices);
    }
    MINIHLO_UNROLLED
    for (size_t i = 0; i < kLanes; ++i) rows[i] = next[i];
  }
  MINIHLO_UNROLLED
  for (size_t i = 0; i < kLanes; ++i) {
    std::memcpy(to + static_cast<int64_t>(i) * to_stride, &rows[i], sizeof(Whole));
  }
}

}  // namespace internal

/// to[c * to_stride + r] = from[r * from_stride + c] for each of `rows` rows r and `columns`
/// columns c. T: a trivial type of up to 16 bytes. Within a loop that run_vectorized() calls.
template <int bytes, class T>
MINIHLO_ALWAYS_INLINE inline void transpose_tile(VectorBytes<bytes>, const T* from,
                                                 int64_t from_stride, int64_t rows, int64_t columns,
                                                 T* to, int64_t to_stride) {
  int64_t whole_rows = 0, whole_columns = 0;
  if constexpr (sizeof(T) <= 8) {
    constexpr int64_t kColumns = 16 / sizeof(T), kRows = bytes / sizeof(T);
    whole_rows = rows / kRows * kRows;
    whole_columns = columns / kColumns * kColumns;
    for (int64_t r = 0; r < whole_rows; r += kRows) {
      for (int64_t c = 0; c < whole_columns; c += kColumns) {
        internal::transpose_vectors<bytes / 16>(from + r * from_stride + c, from_stride,
                                                to + c * to_stride + r, to_stride);
      }
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; ++c) {
      to[c * to_stride + r] = from[r * from_stride + c];
    }
  }
}

/// The same, from anywhere.
template <class T>
__attribute__((noinline)) void transpose_tile(const T* from, int64_t from_stride, int64_t rows,
                                              int64_t columns, T* to, int64_t to_stride) {
  run_vectorized([&](auto bytes) MINIHLO_ALWAYS_INLINE {
    transpose_tile(bytes, from, from_stride, rows, columns, to, to_stride);
  });
}

}  // namespace minihlo
