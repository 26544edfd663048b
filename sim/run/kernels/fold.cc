#include "sim/run/kernels/fold.h"

#include <algorithm>
#include <cstring>

#include "ir/transpose_tile.h"

namespace minihlo {
namespace {

// Elements of rows that are turned together, and how many rows.
constexpr int64_t kTurned = 2048, kTurnedRows = 32;

// to[k * rows + r] = from[r * stride + k].
void turn(int64_t width, const std::byte* from, int64_t stride, int64_t rows, int64_t count,
          std::byte* to) {
  auto typed = [&]<class T>(T) {
    transpose_tile(reinterpret_cast<const T*>(from), stride, rows, count, reinterpret_cast<T*>(to),
                   rows);
  };
  struct Wide {
    uint64_t low, high;
  };
  switch (width) {
    case 1:
      return typed(uint8_t{});
    case 2:
      return typed(uint16_t{});
    case 4:
      return typed(uint32_t{});
    case 8:
      return typed(uint64_t{});
    default:
      return typed(Wide{});
  }
}

}  // namespace

Fold::Fold(const ScalarProgram& program)
    : program_(&program), width_(info(program.result_type(0)).bytes) {
  if (auto opcode = program.single_opcode()) {
    kernels_ = fold_kernels(*opcode, program.result_type(0));
  }
}

void Fold::columns(int64_t lines, int64_t count, int64_t stride, bool starts,
                   const std::byte* elements, std::byte* results) const {
  if (kernels_.columns) return kernels_.columns(lines, count, stride, starts, elements, results);
  if (starts) std::memcpy(results, elements, static_cast<size_t>(lines * width_));
  for (int64_t k = starts; k < count; ++k) {
    const std::byte* parameters[] = {results, elements + k * stride * width_};
    const int64_t steps[] = {1, 1};
    program_->run(lines, parameters, steps, &results);
  }
}

void Fold::rows(int64_t lines, int64_t count, int64_t stride, bool starts,
                const std::byte* elements, std::byte* results) const {
  int64_t first = 0;
  if (kernels_.rows) first = kernels_.rows(lines, count, stride, starts, elements, results);
  if (lines - first == 1) {
    return columns(1, count, 1, starts, elements + first * stride * width_,
                   results + first * width_);
  }
  constexpr int64_t kMaxBytes = 16;
  alignas(64) std::byte turned[kTurned * kMaxBytes];
  for (; first < lines; first += kTurnedRows) {
    const int64_t rows = std::min(kTurnedRows, lines - first);
    for (int64_t done = 0; done < count;) {
      const int64_t part = std::min(kTurned / rows, count - done);
      turn(width_, elements + (first * stride + done) * width_, stride, rows, part, turned);
      columns(rows, part, rows, starts && done == 0, turned, results + first * width_);
      done += part;
    }
  }
}

}  // namespace minihlo
