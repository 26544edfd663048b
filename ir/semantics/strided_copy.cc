#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ir/past_cache.h"
#include "ir/semantics/strided_copy.h"
#include "ir/transpose_tile.h"

namespace minihlo {
namespace {

using Axis = StridedCopy::Axis;

void copy_bytes(const void* from, void* to, int64_t bytes, bool past_cache) {
  if (past_cache) {
    copy_past_cache(static_cast<const std::byte*>(from), static_cast<std::byte*>(to), bytes);
  } else {
    std::memcpy(to, from, static_cast<size_t>(bytes));
  }
}

int64_t magnitude(int64_t stride) { return stride < 0 ? -stride : stride; }

// Whether neighbours along the inner axis of the result lie further apart in the operand than those
// along the outer one.
bool is_crossed(const Axis& outer, const Axis& inner) {
  return inner.operand_stride != 0 && outer.operand_stride != 0 &&
         magnitude(outer.operand_stride) < magnitude(inner.operand_stride);
}

// Calls tile(operand offset, result offset, part of outer, part of inner) for tiles of `size` steps
// along both axes.
template <class Tile>
void for_each_tile(const Axis& outer, const Axis& inner, int64_t size, const Tile& tile) {
  Axis row = outer, column = inner;
  for (int64_t i = 0; i < outer.size; i += size) {
    row.size = std::min(size, outer.size - i);
    for (int64_t j = 0; j < inner.size; j += size) {
      column.size = std::min(size, inner.size - j);
      tile(i * outer.operand_stride + j * inner.operand_stride,
           i * outer.result_stride + j * inner.result_stride, row, column);
    }
  }
}

template <class T>
void fill_row(T value, T* result, int64_t size, bool past_cache) {
  constexpr int64_t kChunk = 4096 / sizeof(T);
  if (!past_cache || size < kChunk) {
    std::fill_n(result, size, value);
    return;
  }
  alignas(64) T chunk[kChunk];
  std::fill_n(chunk, kChunk, value);
  for (int64_t i = 0; i < size; i += kChunk) {
    const int64_t count = std::min(kChunk, size - i);
    copy_bytes(chunk, result + i, count * static_cast<int64_t>(sizeof(T)), true);
  }
}

template <class T>
void copy_row(const T* __restrict operand, T* __restrict result, const Axis& axis,
              bool past_cache) {
  if (axis.result_stride == 1 && axis.operand_stride == 1) {
    copy_bytes(operand, result, axis.size * static_cast<int64_t>(sizeof(T)), past_cache);
  } else if (axis.result_stride == 1 && axis.operand_stride == 0) {
    fill_row(*operand, result, axis.size, past_cache);
  } else if (axis.result_stride == 1) {
    for (int64_t i = 0; i < axis.size; ++i) result[i] = operand[i * axis.operand_stride];
  } else {
    for (int64_t i = 0; i < axis.size; ++i) {
      result[i * axis.result_stride] = operand[i * axis.operand_stride];
    }
  }
}

template <class T>
void copy_rows(const T* operand, T* result, const Axis& outer, const Axis& inner, bool past_cache) {
  for (int64_t i = 0; i < outer.size; ++i) {
    copy_row(operand + i * outer.operand_stride, result + i * outer.result_stride, inner,
             past_cache);
  }
}

// A plane is copied in square tiles where its axes are crossed, so that each cache line of both
// sides is used in full before it leaves.
template <class T>
void copy_plane(const T* operand, T* result, const Axis& outer, const Axis& inner,
                bool past_cache) {
  if (!is_crossed(outer, inner)) return copy_rows(operand, result, outer, inner, past_cache);
  constexpr int64_t kTile = sizeof(T) <= 4 ? 64 : 32;
  if (outer.operand_stride != 1 || inner.result_stride != 1) {
    for_each_tile(outer, inner, 16,
                  [&](int64_t from, int64_t to, const Axis& row, const Axis& column) {
                    copy_rows(operand + from, result + to, row, column, false);
                  });
    return;
  }
  alignas(64) T turned[kTile * kTile];
  for_each_tile(
      outer, inner, kTile, [&](int64_t from, int64_t to, const Axis& row, const Axis& column) {
        transpose_tile(operand + from, inner.operand_stride, column.size, row.size, turned, kTile);
        for (int64_t i = 0; i < row.size; ++i) {
          copy_bytes(turned + i * kTile, result + to + i * outer.result_stride,
                     column.size * static_cast<int64_t>(sizeof(T)), past_cache);
        }
      });
}

constexpr int64_t kLongRun = 256;  // bytes

// Short runs, without a call each.
void copy_run(const std::byte* operand, std::byte* result, int64_t bytes) {
  constexpr int64_t kWord = 16;
  if (bytes < kWord || bytes > kLongRun) {
    std::memcpy(result, operand, static_cast<size_t>(bytes));
    return;
  }
  int64_t at = 0;
  for (; at + 4 * kWord <= bytes; at += 4 * kWord) {
    std::memcpy(result + at, operand + at, 4 * kWord);
  }
  for (; at + kWord <= bytes; at += kWord) std::memcpy(result + at, operand + at, kWord);
  if (at < bytes) std::memcpy(result + bytes - kWord, operand + bytes - kWord, kWord);
}

// Puts short runs together that lie together in the result, so that whole lines of it are written
// past the cache.
class JoinedRuns {
 public:
  // `count` runs of at most kLongRun bytes, `stride` apart in the operand.
  void add(const std::byte* operand, int64_t stride, std::byte* result, int64_t count,
           int64_t bytes) {
    if (result != end_) flush(false);
    while (count > 0) {
      const int64_t part = std::min(count, (kMaxBytes - size_) / bytes);
      std::byte* to = bytes_ + size_;
      for (int64_t k = 0; k < part; ++k) copy_run(operand + k * stride, to + k * bytes, bytes);
      operand += part * stride;
      result += part * bytes;
      count -= part;
      size_ += part * bytes;
      end_ = result;
      if (count > 0) flush(true);
    }
  }
  // Writes what there is; a line that is not full yet stays if more is to come behind it.
  void flush(bool goes_on) {
    if (size_ == 0) return;
    const auto in_line =
        static_cast<int64_t>(reinterpret_cast<uintptr_t>(end_) % uintptr_t{kCacheLine});
    const int64_t rest = goes_on ? std::min(in_line, size_) : 0;
    copy_past_cache(bytes_, end_ - size_, size_ - rest);
    std::memmove(bytes_, bytes_ + size_ - rest, static_cast<size_t>(rest));
    size_ = rest;
  }

 private:
  static constexpr int64_t kMaxBytes = 2048;
  static_assert(kMaxBytes >= kLongRun + kCacheLine);

  alignas(kCacheLine) std::byte bytes_[kMaxBytes];
  int64_t size_ = 0;
  std::byte* end_ = nullptr;  // of what they are in the result
};

// The same for runs of `run` elements that lie together on both sides.
template <class T>
void copy_plane_of_runs(const T* operand_elements, T* result_elements, Axis outer, Axis inner,
                        int64_t run, bool past_cache) {
  const auto* operand = reinterpret_cast<const std::byte*>(operand_elements);
  auto* result = reinterpret_cast<std::byte*>(result_elements);
  const int64_t bytes = run * static_cast<int64_t>(sizeof(T));
  for (Axis* axis : {&outer, &inner}) {
    axis->operand_stride *= static_cast<int64_t>(sizeof(T));
    axis->result_stride *= static_cast<int64_t>(sizeof(T));
  }
  constexpr int64_t kStreams = 8;
  const bool is_together = inner.result_stride == bytes, is_long = bytes > kLongRun;
  // Whether runs, or kStreams of them that lie together, fill lines of the result; else those that
  // lie together are put together first.
  const bool fills_lines = past_cache &&
                           (bytes % kCacheLine == 0 ||
                            (bytes % kCacheWord == 0 && is_together && inner.size >= kStreams)) &&
                           reinterpret_cast<uintptr_t>(result) % uintptr_t{kCacheLine} == 0 &&
                           outer.result_stride % kCacheLine == 0 &&
                           (is_together || inner.result_stride % kCacheLine == 0);
  const bool joins = past_cache && !fills_lines && is_together && !is_long;
  JoinedRuns joined;
  auto copy_runs = [&](int64_t i, int64_t j, int64_t count) {
    const std::byte* from = operand + i * outer.operand_stride + j * inner.operand_stride;
    std::byte* to = result + i * outer.result_stride + j * inner.result_stride;
    if (joins) return joined.add(from, inner.operand_stride, to, count, bytes);
    for (int64_t k = 0; k < count; ++k) {
      const std::byte* operand_run = from + k * inner.operand_stride;
      std::byte* result_run = to + k * inner.result_stride;
      if (fills_lines) {
        copy_words_past_cache(operand_run, result_run, bytes);
      } else if (past_cache && is_long) {
        copy_past_cache(operand_run, result_run, bytes);
      } else {
        copy_run(operand_run, result_run, bytes);
      }
    }
  };
  // Where axes are crossed the operand is read along `outer` in a few streams, which the machine
  // fetches ahead; as many runs, whole lines of them, are written together. What has long runs
  // without whole lines is best read in one stream.
  int64_t streams = bytes % (kCacheLine / kStreams) == 0 ? kStreams : 2 * kStreams;
  if (past_cache && is_long && !fills_lines) streams = 1;
  const int64_t width = is_crossed(outer, inner) ? streams : inner.size;
  for (int64_t j = 0; j < inner.size; j += width) {
    for (int64_t i = 0; i < outer.size; ++i) copy_runs(i, j, std::min(width, inner.size - j));
  }
  joined.flush(false);
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
void copy_typed(const StridedCopy& copy, const std::byte* operand_bytes, std::byte* result_bytes,
                bool past_cache) {
  const T* operand = reinterpret_cast<const T*>(operand_bytes);
  T* result = reinterpret_cast<T*>(result_bytes);
  constexpr Axis kOne{1, 0, 0};
  std::vector<Axis> axes = copy.axes;
  auto take = [&](size_t i) {
    const Axis axis = axes[i];
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(i));
    return axis;
  };
  auto take_last = [&] { return axes.empty() ? kOne : take(axes.size() - 1); };
  Axis inner = take_last();
  const bool is_run = inner.operand_stride == 1 && inner.result_stride == 1 && !axes.empty();
  const int64_t run = inner.size;
  if (is_run) inner = take_last();
  // Beside the inner axis of the result goes the one that is the inner axis of the operand, if it
  // is another.
  size_t nearest = axes.size();
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!is_crossed(axes[i], inner)) continue;
    if (nearest == axes.size() || is_crossed(axes[i], axes[nearest])) nearest = i;
  }
  const Axis outer = nearest < axes.size() ? take(nearest) : take_last();
  for_each_index(axes, copy.operand_offset, copy.result_offset, [&](int64_t from, int64_t to) {
    if (is_run) {
      copy_plane_of_runs(operand + from, result + to, outer, inner, run, past_cache);
    } else {
      copy_plane(operand + from, result + to, outer, inner, past_cache);
    }
  });
  if (past_cache) finish_past_cache();
}

struct Wide {
  uint64_t low, high;
};

void copy_any(const StridedCopy& copy, const std::byte* operand, std::byte* result, int64_t width,
              bool past_cache) {
  if (is_empty(copy)) return;
  switch (width) {
    case 1:
      return copy_typed<uint8_t>(copy, operand, result, past_cache);
    case 2:
      return copy_typed<uint16_t>(copy, operand, result, past_cache);
    case 4:
      return copy_typed<uint32_t>(copy, operand, result, past_cache);
    case 8:
      return copy_typed<uint64_t>(copy, operand, result, past_cache);
    default:
      return copy_typed<Wide>(copy, operand, result, past_cache);
  }
}

}  // namespace

void copy_strided(const StridedCopy& copy, const std::byte* operand, std::byte* result,
                  int64_t width) {
  copy_any(copy, operand, result, width, false);
}

void copy_strided_past_cache(const StridedCopy& copy, const std::byte* operand, std::byte* result,
                             int64_t width) {
  copy_any(copy, operand, result, width, true);
}

void clear_strided(const StridedCopy& copy, std::byte* result, int64_t width) {
  static constexpr std::byte kZero[16] = {};
  StridedCopy from_zero = copy;
  from_zero.operand_offset = 0;
  for (Axis& axis : from_zero.axes) axis.operand_stride = 0;
  copy_strided(from_zero, kZero, result, width);
}

}  // namespace minihlo
