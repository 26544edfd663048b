#include <algorithm>
#include <cstdint>
#include <cstring>

#include "ir/semantics/movement.h"

namespace minihlo {
namespace {

using Axis = StridedCopy::Axis;

// Copies along two axes go in square tiles, so that a transposition uses each cache line it
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

// Whether neighbours along the inner axis of the result lie further apart in the operand than those
// along the outer one.
bool is_crossed(const Axis& outer, const Axis& inner) {
  auto magnitude = [](int64_t stride) { return stride < 0 ? -stride : stride; };
  return inner.operand_stride != 0 && outer.operand_stride != 0 &&
         magnitude(outer.operand_stride) < magnitude(inner.operand_stride);
}

// Calls row(operand offset, result offset, axis) for parts of the inner axis, in tiles where the
// axes are crossed.
template <class Row>
void for_each_row(const Axis& outer, const Axis& inner, const Row& row) {
  if (!is_crossed(outer, inner)) {
    for (int64_t i = 0; i < outer.size; ++i) {
      row(i * outer.operand_stride, i * outer.result_stride, inner);
    }
    return;
  }
  for (int64_t i = 0; i < outer.size; i += kTile) {
    const int64_t end = std::min(outer.size, i + kTile);
    for (int64_t j = 0; j < inner.size; j += kTile) {
      Axis part = inner;
      part.size = std::min(kTile, inner.size - j);
      for (int64_t k = i; k < end; ++k) {
        row(k * outer.operand_stride + j * inner.operand_stride,
            k * outer.result_stride + j * inner.result_stride, part);
      }
    }
  }
}

// Short runs, without a call each.
void copy_run(const std::byte* operand, std::byte* result, int64_t bytes) {
  constexpr int64_t kWord = 16, kLongRun = 512;
  if (bytes < kWord || bytes > kLongRun) {
    std::memcpy(result, operand, static_cast<size_t>(bytes));
    return;
  }
  for (int64_t at = 0; at + kWord <= bytes; at += kWord) {
    std::memcpy(result + at, operand + at, kWord);
  }
  std::memcpy(result + bytes - kWord, operand + bytes - kWord, kWord);
}

template <class T>
void copy_plane(const T* operand, T* result, const Axis& outer, const Axis& inner) {
  for_each_row(outer, inner, [&](int64_t from, int64_t to, const Axis& part) {
    copy_row(operand + from, result + to, part);
  });
}

// The same for runs of `run` elements that lie together on both sides.
template <class T>
void copy_plane_of_runs(const T* operand, T* result, const Axis& outer, const Axis& inner,
                        int64_t run) {
  const int64_t bytes = run * static_cast<int64_t>(sizeof(T));
  for_each_row(outer, inner, [&](int64_t from, int64_t to, const Axis& part) {
    for (int64_t i = 0; i < part.size; ++i) {
      copy_run(reinterpret_cast<const std::byte*>(operand + from + i * part.operand_stride),
               reinterpret_cast<std::byte*>(result + to + i * part.result_stride), bytes);
    }
  });
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
  std::span<const Axis> axes = copy.axes;
  auto take_last = [&] {
    if (axes.empty()) return kOne;
    const Axis last = axes.back();
    axes = axes.first(axes.size() - 1);
    return last;
  };
  Axis inner = take_last();
  const bool is_run = inner.operand_stride == 1 && inner.result_stride == 1 && !axes.empty();
  const int64_t run = inner.size;
  if (is_run) inner = take_last();
  const Axis outer = take_last();
  for_each_index(axes, copy.operand_offset, copy.result_offset, [&](int64_t from, int64_t to) {
    if (is_run) {
      copy_plane_of_runs(operand + from, result + to, outer, inner, run);
    } else {
      copy_plane(operand + from, result + to, outer, inner);
    }
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
