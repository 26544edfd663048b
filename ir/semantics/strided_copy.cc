#include <algorithm>
#include <array>
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

// Runs up to so many bytes are put together before they are written; longer ones are read twice
// only at their ends.
constexpr int64_t kLongRun = 256;

// Short runs, without a call each.
MINIHLO_ALWAYS_INLINE inline void copy_run(const std::byte* operand, std::byte* result,
                                           int64_t bytes) {
  constexpr int64_t kWord = 16;
  if (bytes < kWord || bytes > kLongRun) {
    std::memcpy(result, operand, static_cast<size_t>(bytes));
    return;
  }
  // What is left over at the end is copied with some of what was copied before.
  if (bytes < kCacheLine) {
    for (int64_t at = 0; at + kWord <= bytes; at += kWord) {
      std::memcpy(result + at, operand + at, kWord);
    }
    std::memcpy(result + bytes - kWord, operand + bytes - kWord, kWord);
    return;
  }
  for (int64_t at = 0; at + kCacheLine <= bytes; at += kCacheLine) {
    std::memcpy(result + at, operand + at, kCacheLine);
  }
  std::memcpy(result + bytes - kCacheLine, operand + bytes - kCacheLine, kCacheLine);
}

constexpr int64_t kAhead = 2048;

// Has the machine fetch the lines of `bytes` bytes from `ahead` bytes behind `at` on, if there is
// such memory; of many the first ones, as it sees where these go on.
MINIHLO_ALWAYS_INLINE inline void fetch(const std::byte* at, int64_t ahead, int64_t bytes) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(at) + static_cast<uintptr_t>(ahead);
  const auto fetched = static_cast<uintptr_t>(bytes > kAhead ? int64_t{256} : bytes);
  for (uintptr_t i = 0; i < fetched; i += kCacheLine) {
    __builtin_prefetch(reinterpret_cast<const void*>(first + i));
  }
}

// Writes what lies together in the result in whole lines past the cache; what does not fill a line
// waits for what comes behind it.
class LineWriter {
 public:
  // Goes on at `to`.
  void start(std::byte* to) {
    if (to == end_) return;
    finish();
    begin_ = size_ = place_in_line(to);
    end_ = to;
  }
  // Goes on at `to`, in a line whose first bytes pause() gave.
  MINIHLO_ALWAYS_INLINE inline void resume(std::byte* to, const std::byte* rest) {
    if (size_ > 0) finish();
    size_ = place_in_line(to);
    end_ = to;
    std::memcpy(line(), rest, kCacheLine);
  }
  // Writes whole lines and gives away what is left of at most one, once there was a whole one.
  MINIHLO_ALWAYS_INLINE inline void pause(std::byte* rest) {
    write_lines();
    std::memcpy(rest, line(), kCacheLine);
    size_ = 0;
    end_ = nullptr;
  }
  // Adds `count` runs, `stride` apart; with each the machine is told to fetch what lies `ahead`.
  MINIHLO_ALWAYS_INLINE inline void add(const std::byte* from, int64_t stride, int64_t count,
                                        int64_t bytes, int64_t ahead) {
    if ((size_ | bytes) % kCacheLine == 0) {
      write_lines();
      for (; count > 0; --count, from += stride, end_ += bytes) {
        fetch(from, ahead, bytes);
        copy_words_past_cache(from, end_, bytes);
      }
      return;
    }
    if (bytes > kLongRun) {
      for (; count > 0; --count, from += stride) {
        fetch(from, ahead, bytes);
        add_long(from, bytes);
      }
      return;
    }
    while (count > 0) {
      const int64_t part = std::min(count, (kMaxBytes - size_) / bytes);
      std::byte* to = line() + size_;
      if (bytes >= kCacheLine && bytes <= 2 * kCacheLine) {
        for (int64_t k = 0; k < part; ++k, from += stride, to += bytes) {
          fetch(from, ahead, 2 * kCacheLine);
          std::memcpy(to, from, kCacheLine);
          std::memcpy(to + bytes - kCacheLine, from + bytes - kCacheLine, kCacheLine);
        }
      } else {
        for (int64_t k = 0; k < part; ++k, from += stride, to += bytes) {
          fetch(from, ahead, bytes);
          copy_run(from, to, bytes);
        }
      }
      size_ += part * bytes;
      end_ += part * bytes;
      count -= part;
      if (count > 0) write_lines();
    }
  }
  // Writes all there is.
  void finish() {
    write_lines();
    if (size_ > begin_) {
      std::memcpy(end_ - (size_ - begin_), line() + begin_, static_cast<size_t>(size_ - begin_));
    }
    begin_ = size_ = 0;
    end_ = nullptr;
  }

 private:
  static constexpr int64_t kMaxBytes = 1024;

  static int64_t place_in_line(const std::byte* at) {
    return static_cast<int64_t>(reinterpret_cast<uintptr_t>(at) % uintptr_t{kCacheLine});
  }
  std::byte* line() { return bytes_ + kCacheLine; }
  MINIHLO_ALWAYS_INLINE inline void add_long(const std::byte* from, int64_t bytes) {
    const int64_t head = -size_ & (kCacheLine - 1);
    std::memcpy(line() + size_, from, kCacheLine);
    size_ += head;
    end_ += head;
    write_lines();
    const int64_t lines = (bytes - head) / kCacheLine * kCacheLine, rest = bytes - head - lines;
    copy_words_past_cache(from + head, end_, lines);
    std::memcpy(line() + rest - kCacheLine, from + bytes - kCacheLine, kCacheLine);
    size_ = rest;
    end_ += lines + rest;
  }
  MINIHLO_ALWAYS_INLINE inline void write_lines() {
    const int64_t whole = size_ / kCacheLine * kCacheLine;
    if (whole == 0) return;
    std::byte* to = end_ - size_;
    int64_t done = 0;
    if (begin_ > 0) {
      done = kCacheLine;
      std::memcpy(to + begin_, line() + begin_, static_cast<size_t>(done - begin_));
      begin_ = 0;
    }
    copy_words_past_cache(line() + done, to + done, whole - done);
    std::memcpy(line(), line() + whole, kCacheLine);
    size_ -= whole;
  }

  // A line before and one behind, for what is copied in whole lines. All in one page: words that
  // are written across the end of one take hundreds of cycles.
  alignas(2 * kMaxBytes) std::byte bytes_[kMaxBytes + 2 * kCacheLine];
  // The bytes of the line on that are to be written, and where the last one's place in the result
  // ends.
  int64_t begin_ = 0, size_ = 0;
  std::byte* end_ = nullptr;
};

// Of rows of the result that are written in turn, what did not fill a line yet.
constexpr int64_t kPausedRows = 256;
struct PausedRows {
  alignas(kCacheLine) std::byte rests[kPausedRows][kCacheLine];
};

// The same for runs of `run` elements that lie together on both sides. `writer` and `paused` are
// null where nothing goes past the cache.
template <class T>
void copy_plane_of_runs(const T* operand_elements, T* result_elements, Axis outer, Axis inner,
                        int64_t run, LineWriter* writer, PausedRows* paused) {
  const auto* operand = reinterpret_cast<const std::byte*>(operand_elements);
  auto* result = reinterpret_cast<std::byte*>(result_elements);
  const int64_t bytes = run * static_cast<int64_t>(sizeof(T));
  for (Axis* axis : {&outer, &inner}) {
    axis->operand_stride *= static_cast<int64_t>(sizeof(T));
    axis->result_stride *= static_cast<int64_t>(sizeof(T));
  }
  const bool joins = writer && inner.result_stride == bytes;
  // Where the axes are crossed the operand is read along `outer` in a few streams, and as many runs
  // are written together; what they leave of a line waits. Where the inner axis is short that is
  // all of it. Lines of streams that lie a power of two apart share few places in the cache. All of
  // a line is written at least.
  const bool is_turned = is_crossed(outer, inner);
  const int64_t streams = std::clamp<int64_t>(
      kAhead / bytes, 2,
      bytes % kCacheLine == 0 ? 8 : std::max<int64_t>(16, 2 * kCacheLine / bytes));
  const bool pauses = is_turned && inner.size > 2 * streams;
  const int64_t width = pauses ? streams : inner.size;
  const int64_t rows = pauses && joins ? kPausedRows : outer.size;
  const int64_t ahead = pauses      ? streams * inner.operand_stride
                        : is_turned ? (1 + kAhead / bytes) * outer.operand_stride
                                    : (1 + kAhead / bytes) * inner.operand_stride;
  run_vectorized([&]() MINIHLO_ALWAYS_INLINE {
    for (int64_t first = 0; first < outer.size; first += rows) {
      const int64_t end = std::min(first + rows, outer.size);
      for (int64_t j = 0; j < inner.size; j += width) {
        const int64_t count = std::min(width, inner.size - j);
        for (int64_t i = first; i < end; ++i) {
          const std::byte* from = operand + i * outer.operand_stride + j * inner.operand_stride;
          std::byte* to = result + i * outer.result_stride + j * inner.result_stride;
          if (!joins) {
            for (int64_t k = 0; k < count; ++k) {
              fetch(from, ahead, bytes);
              if (writer && bytes >= 3 * kCacheLine) {
                copy_past_cache(from, to, bytes);
              } else {
                copy_run(from, to, bytes);
              }
              from += inner.operand_stride;
              to += inner.result_stride;
            }
            continue;
          }
          if (j == 0) {
            writer->start(to);
          } else {
            writer->resume(to, paused->rests[i - first]);
          }
          writer->add(from, inner.operand_stride, count, bytes, ahead);
          if (j + count < inner.size) writer->pause(paused->rests[i - first]);
        }
      }
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
  LineWriter writer;
  PausedRows paused;
  for_each_index(axes, copy.operand_offset, copy.result_offset, [&](int64_t from, int64_t to) {
    if (is_run) {
      copy_plane_of_runs(operand + from, result + to, outer, inner, run,
                         past_cache ? &writer : nullptr, &paused);
    } else {
      copy_plane(operand + from, result + to, outer, inner, past_cache);
    }
  });
  if (!past_cache) return;
  writer.finish();
  finish_past_cache();
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
