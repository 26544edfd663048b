#include <cstdint>
#include <cstring>

#include "ir/semantics/movement.h"

namespace minihlo {
namespace {

using Axis = StridedCopy::Axis;

// Two-dimensional copies go in square tiles, so that a transposition uses each cache line it
// touches in full before it leaves.
constexpr int64_t kTile = 16;

template <class T>
void copy_row(const T* __restrict operand, T* __restrict result, const Axis& axis) {
  if (axis.result_stride == 1 && axis.operand_stride == 1) {
    std::memcpy(result, operand, static_cast<size_t>(axis.size) * sizeof(T));
  } else if (axis.result_stride == 1 && axis.operand_stride == 0) {
    const T value = *operand;
    for (int64_t i = 0; i < axis.size; ++i) result[i] = value;
  } else if (axis.result_stride == 1) {
    for (int64_t i = 0; i < axis.size; ++i) result[i] = operand[i * axis.operand_stride];
  } else {
    for (int64_t i = 0; i < axis.size; ++i) {
      result[i * axis.result_stride] = operand[i * axis.operand_stride];
    }
  }
}

template <class T>
void copy_plane(const T* operand, T* result, const Axis& outer, const Axis& inner) {
  auto magnitude = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  bool crossed = inner.operand_stride != 0 && outer.operand_stride != 0 &&
                 magnitude(outer.operand_stride) < magnitude(inner.operand_stride);
  if (!crossed) {
    for (int64_t i = 0; i < outer.size; ++i) {
      copy_row(operand + i * outer.operand_stride, result + i * outer.result_stride, inner);
    }
    return;
  }
  for (int64_t i = 0; i < outer.size; i += kTile) {
    int64_t rows = outer.size - i < kTile ? outer.size - i : kTile;
    for (int64_t j = 0; j < inner.size; j += kTile) {
      Axis tile = inner;
      if (inner.size - j < kTile)
        tile.size = inner.size - j;
      else
        tile.size = kTile;
      for (int64_t row = i; row < i + rows; ++row) {
        copy_row(operand + row * outer.operand_stride + j * inner.operand_stride,
                 result + row * outer.result_stride + j * inner.result_stride, tile);
      }
    }
  }
}

// Calls body(operand offset, result offset) for each index of the leading axes.
template <class Body>
void for_each_index(std::span<const Axis> axes, int64_t operand, int64_t result, const Body& body) {
  std::vector<int64_t> index(axes.size(), 0);
  for (;;) {
    body(operand, result);
    size_t i = axes.size();
    for (;;) {
      if (i == 0) return;
      --i;
      operand += axes[i].operand_stride;
      result += axes[i].result_stride;
      if (++index[i] < axes[i].size) break;
      operand -= axes[i].operand_stride * axes[i].size;
      result -= axes[i].result_stride * axes[i].size;
      index[i] = 0;
    }
  }
}

bool is_empty(const StridedCopy& copy) {
  for (const Axis& axis : copy.axes) {
    if (axis.size == 0) return true;
  }
  return false;
}

template <class T>
void copy_typed(const StridedCopy& copy, const std::byte* operand_bytes, std::byte* result_bytes) {
  const T* operand = reinterpret_cast<const T*>(operand_bytes);
  T* result = reinterpret_cast<T*>(result_bytes);
  constexpr Axis kOne{1, 0, 0};
  size_t rank = copy.axes.size();
  const Axis& inner = rank > 0 ? copy.axes[rank - 1] : kOne;
  const Axis& outer = rank > 1 ? copy.axes[rank - 2] : kOne;
  std::span<const Axis> leading(copy.axes.data(), rank > 2 ? rank - 2 : 0);
  for_each_index(leading, copy.operand_offset, copy.result_offset, [&](int64_t from, int64_t to) {
    copy_plane(operand + from, result + to, outer, inner);
  });
}

struct Wide {
  uint64_t low, high;
};

}  // namespace

void copy_strided(const StridedCopy& copy, const std::byte* operand, std::byte* result,
                  int64_t width) {
  if (is_empty(copy)) return;
  switch (width) {
    case 1:
      return copy_typed<uint8_t>(copy, operand, result);
    case 2:
      return copy_typed<uint16_t>(copy, operand, result);
    case 4:
      return copy_typed<uint32_t>(copy, operand, result);
    case 8:
      return copy_typed<uint64_t>(copy, operand, result);
    default:
      return copy_typed<Wide>(copy, operand, result);
  }
}

void clear_strided(const StridedCopy& copy, std::byte* result, int64_t width) {
  static constexpr std::byte kZero[16] = {};
  StridedCopy from_zero = copy;
  from_zero.operand_offset = 0;
  for (Axis& axis : from_zero.axes) axis.operand_stride = 0;
  copy_strided(from_zero, kZero, result, width);
}

}  // namespace minihlo
