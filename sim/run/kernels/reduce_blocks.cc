#include "sim/run/kernels/reduce_blocks.h"

#include <algorithm>
#include <cstring>

#include "sim/run/kernels/axes.h"

namespace minihlo {
namespace {

// The blocks of one axis; a kept axis has blocks of one element.
struct Axis {
  int64_t size;
  int64_t extent;
  int64_t count;
  int64_t missing;  // elements that the first block is short of
  int64_t stride;

  int64_t first(int64_t block) const { return std::max<int64_t>(0, block * extent - missing); }
  int64_t end(int64_t block) const { return std::min(size, (block + 1) * extent - missing); }
};

struct Plan {
  Buffer from, to;
  int64_t width;
  std::vector<Axis> outer;
  Axis inner;  // the last axis
  bool inner_is_reduced;
  Fold fold;
};

constexpr int64_t kRows = 8;       // that are folded together at most
constexpr int64_t kMaxWidth = 16;  // bytes of an element

Axis blocks_of(int64_t size, int64_t stride, bool is_reduced) {
  const int64_t extent = is_reduced ? std::max<int64_t>(1, std::min(size, kBlockExtent)) : 1;
  const int64_t count = (size + extent - 1) / extent;
  return {size, extent, count, (count * extent - size) / 2, stride};
}

// The last axis is reduced: to[b] = fold of the elements of block b of the run at `from`, of `rows`
// runs that lie `stride` elements apart.
void fold_runs(const Plan& plan, bool is_first, int64_t rows, int64_t stride, const std::byte* from,
               std::byte* to) {
  const Axis& inner = plan.inner;
  const int64_t width = plan.width;
  // One block of all rows.
  alignas(kRows * kMaxWidth) std::byte results[kRows * kMaxWidth];
  auto fold_block = [&](int64_t block) {
    auto at = [&](int64_t row) { return to + (row * inner.count + block) * width; };
    for (int64_t row = 0; row < rows && !is_first; ++row) {
      std::memcpy(results + row * width, at(row), static_cast<size_t>(width));
    }
    plan.fold.rows(rows, inner.end(block) - inner.first(block), stride, is_first,
                   from + inner.first(block) * width, results);
    for (int64_t row = 0; row < rows; ++row) {
      std::memcpy(at(row), results + row * width, static_cast<size_t>(width));
    }
  };
  // All have as many elements but for the first and the last, perhaps.
  const int64_t short_first = inner.missing > 0 ? 1 : 0;
  const bool short_last = inner.end(inner.count - 1) - inner.first(inner.count - 1) < inner.extent;
  const int64_t last = std::max(short_first, inner.count - (short_last ? 1 : 0));
  // Many of one row are folded together, a few are with those of the other rows.
  constexpr int64_t kMany = 8;
  const int64_t many = rows == 1 ? last - short_first : (last - short_first) / kMany * kMany;
  for (int64_t row = 0; row < rows && many > 0; ++row) {
    plan.fold.rows(many, inner.extent, inner.extent, is_first,
                   from + (row * stride + inner.first(short_first)) * width,
                   to + (row * inner.count + short_first) * width);
  }
  for (int64_t block = 0; block < short_first; ++block) fold_block(block);
  for (int64_t block = short_first + many; block < inner.count; ++block) fold_block(block);
}

// Results along the last axis that stay in the cache until all of their blocks are folded.
constexpr int64_t kPiece = 2048;

// Works on whole lines of results along the last axis.
void fold_lines(const Plan& plan, int64_t begin, int64_t end) {
  std::vector<StridedAxis> block(plan.outer.size());
  const int64_t line = plan.inner.count;
  // Rows of few blocks that lie one behind the other along an axis that is kept go together.
  constexpr int64_t kFew = 16;
  const bool has_rows =
      line < kFew && plan.inner_is_reduced && !plan.outer.empty() && plan.outer.back().extent == 1;
  for (int64_t i = begin, rows = 1; i < end; i += rows) {
    if (has_rows) {
      const int64_t along = plan.outer.back().count;
      rows = std::min({kRows, end - i, along - i % along});
    }
    int64_t start = 0, rest = i;
    for (size_t a = plan.outer.size(); a-- > 0; rest /= plan.outer[a].count) {
      const Axis& axis = plan.outer[a];
      const int64_t number = rest % axis.count;
      start += axis.first(number) * axis.stride;
      block[a] = {axis.end(number) - axis.first(number), axis.stride};
    }
    std::byte* to = Buffer(plan.to).mutable_data() + i * line * plan.width;
    // Where lines lie side by side, the last axis of the block is folded at once.
    const bool has_columns = !plan.inner_is_reduced && !block.empty();
    const std::span<const StridedAxis> outer(block.data(), block.size() - (has_columns ? 1 : 0));
    const StridedAxis folded = has_columns ? block.back() : StridedAxis{1, 0};
    const int64_t runs = count_of(outer);
    const int64_t piece = plan.inner_is_reduced ? line : kPiece;
    for (int64_t at = 0; at < line; at += piece) {
      OffsetWalk walk(outer);
      for (int64_t k = 0; k < runs; ++k, walk.next()) {
        const std::byte* from = plan.from.data() + (start + walk.offset() + at) * plan.width;
        if (plan.inner_is_reduced) {
          fold_runs(plan, k == 0, rows, has_rows ? plan.outer.back().stride : 0, from, to);
        } else {
          plan.fold.columns(std::min(piece, line - at), folded.size, folded.stride, k == 0, from,
                            to + at * plan.width);
        }
      }
    }
  }
}

}  // namespace

bool has_blocks(const BlockedArray& array) {
  for (size_t i = 0; i < array.dims.size(); ++i) {
    if (array.is_reduced[i] && array.dims[i] > kBlockExtent) return true;
  }
  return false;
}

tl::expected<BlockedArray, Stop> add_blocks(KernelCall& call, const BlockedArray& array,
                                            int64_t width, const Fold& fold) {
  const std::vector<int64_t> strides = row_major_strides(array.dims);
  std::vector<Axis> axes;
  BlockedArray result{{}, {}, array.is_reduced};
  int64_t count = 1, block = 1;
  for (size_t i = 0; i < array.dims.size(); ++i) {
    axes.push_back(blocks_of(array.dims[i], strides[i], array.is_reduced[i]));
    result.dims.push_back(axes.back().count);
    count *= axes.back().count;
    block *= axes.back().extent;
  }
  auto to = call.allocate(count * width);
  if (!to) return tl::unexpected(std::move(to.error()));
  result.data = *to;
  if (count == 0) return result;
  Plan plan{array.data, *std::move(to), width, axes, axes.back(), array.is_reduced.back(), fold};
  plan.outer.pop_back();
  const int64_t line = plan.inner.count;
  call.add(count / line, line * block * width,
           [plan = std::move(plan)](int64_t begin, int64_t end) { fold_lines(plan, begin, end); });
  call.next_stage();
  return result;
}

}  // namespace minihlo
