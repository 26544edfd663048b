#include "sim/run/kernels/matrix_product.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>

#include "sim/run/kernels/contract.h"
#include "sim/run/kernels/contraction.h"

namespace minihlo {
namespace {

// A unit of work makes kRows x kColumns elements of the result, kDepth terms of each at a time: the
// block of the right matrix stays in the second-level cache, a strip of the left one and a panel of
// the right one in the first.
constexpr int64_t kRows = 192;
constexpr int64_t kColumns = 512;
constexpr int64_t kDepth = 256;
// Of a right matrix that few rows are multiplied by, so that it is read once: as much of few rows
// of it at a time as the sums of stay in the cache, as the memory likes it.
constexpr int64_t kDepthOnce = 8;
constexpr int64_t kSumsOnce = int64_t{1} << 14, kMaxColumnsOnce = 4096;
// Less work than this is not cut up further, for the sake of threads.
constexpr int64_t kSmallUnit = int64_t{1} << 21;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Memory of a thread that grows and is kept.
class Scratch {
 public:
  std::byte* get(int64_t bytes) {
    if (bytes > size_) {
      data_.reset(static_cast<std::byte*>(
          ::operator new(static_cast<size_t>(bytes), std::align_val_t(kAlignment))));
      size_ = bytes;
    }
    return data_.get();
  }

 private:
  static constexpr size_t kAlignment = 64;
  struct Delete {
    void operator()(std::byte* data) const {
      ::operator delete(data, std::align_val_t(kAlignment));
    }
  };
  std::unique_ptr<std::byte, Delete> data_;
  int64_t size_ = 0;
};

struct Side {
  MatrixProduct::Operand operand;
  int64_t bytes = 0;                     // of an element
  std::optional<ElementwiseOp> convert;  // to the type of the sums
};

struct Plan {
  Side left, right;
  MatrixProduct::Operand result;
  std::optional<ElementwiseOp> convert;  // of sums
  ElementType sum_type;
  int64_t sum_bytes;
  ContractTile tile;
  int64_t rows, columns, depth;
  int64_t row_block, column_block;  // of a unit
  int64_t row_blocks, column_blocks;
  Workers* workers;
};

class Unit {
 public:
  Unit(const Plan& plan, int64_t number) : plan_(plan), is_late_(*plan.workers) {
    const int64_t group = number / (plan.row_blocks * plan.column_blocks);
    const int64_t first_row = number / plan.column_blocks % plan.row_blocks * plan.row_block;
    const int64_t first_column = number % plan.column_blocks * plan.column_block;
    rows_ = std::min(plan.row_block, plan.rows - first_row);
    columns_ = std::min(plan.column_block, plan.columns - first_column);
    strips_ = ceil_div(rows_, plan.tile.rows);
    panels_ = ceil_div(columns_, plan.tile.columns);
    is_once_ = strips_ == 1;
    const MatrixView &left = plan.left.operand.view, &right = plan.right.operand.view;
    const MatrixView& result = plan.result.view;
    left_base_ = left.offset + offset_of(left.groups, group);
    right_base_ = right.offset + offset_of(right.groups, group);
    result_base_ = result.offset + offset_of(result.groups, group);
    left_rows_ = offsets_of(left.rows, first_row, rows_);
    right_columns_ = offsets_of(right.columns, first_column, columns_);
    has_right_rows_ = is_once_ && is_run(right_columns_);
    result_rows_ = offsets_of(result.rows, first_row, rows_);
    result_columns_ = offsets_of(result.columns, first_column, columns_);
  }

  void run() {
    const ContractTile& tile = plan_.tile;
    const int64_t tile_bytes = (is_once_ ? rows_ : tile.rows) * tile.columns * plan_.sum_bytes;
    std::byte* sums = sums_memory().get(strips_ * panels_ * tile_bytes);
    int64_t done = 0;
    do {
      const int64_t count = std::min(kDepth, plan_.depth - done);
      const std::vector<int64_t> left_depth =
          offsets_of(plan_.left.operand.view.columns, done, count);
      const std::vector<int64_t> right_depth =
          offsets_of(plan_.right.operand.view.rows, done, count);
      const int64_t strip_bytes = count * tile.rows * plan_.sum_bytes;
      std::byte* strips = left_memory().get(strips_ * strip_bytes);
      for (int64_t s = 0; s < strips_; ++s) {
        pack(plan_.left, left_base_, part(left_rows_, s, tile.rows), left_depth, tile.rows,
             strips + s * strip_bytes);
      }
      const int64_t step = has_right_rows_ ? kDepthOnce : count;
      int64_t k = 0;
      do {
        const std::span<const int64_t> depth =
            std::span(right_depth)
                .subspan(static_cast<size_t>(k), static_cast<size_t>(std::min(step, count - k)));
        const int64_t left_bytes = k * tile.rows * plan_.sum_bytes;
        const std::optional<Panel> rows = right_rows(depth);
        for (int64_t p = 0; p < panels_; ++p) {
          const Panel panel = right_panel(rows, p, depth);
          for (int64_t s = 0; s < strips_; ++s) {
            tile.run(std::min(tile.rows, rows_ - s * tile.rows), static_cast<int64_t>(depth.size()),
                     strips + s * strip_bytes + left_bytes, panel.data, panel.stride, done + k > 0,
                     sums + (p * strips_ + s) * tile_bytes);
          }
          const auto terms = static_cast<int64_t>(depth.size());
          if (is_late_(rows_ * tile.columns * terms)) return;
        }
        k += step;
      } while (k < count);
      done += count;
    } while (done < plan_.depth);
    for (int64_t p = 0; p < panels_; ++p) {
      for (int64_t s = 0; s < strips_; ++s) store(s, p, sums + (p * strips_ + s) * tile_bytes);
    }
  }

 private:
  static Scratch& left_memory() {
    thread_local Scratch scratch;
    return scratch;
  }
  static Scratch& right_memory() {
    thread_local Scratch scratch;
    return scratch;
  }
  static Scratch& rows_memory() {
    thread_local Scratch scratch;
    return scratch;
  }
  static Scratch& raw_memory() {
    thread_local Scratch scratch;
    return scratch;
  }
  static Scratch& sums_memory() {
    thread_local Scratch scratch;
    return scratch;
  }

  static std::span<const int64_t> part(const std::vector<int64_t>& all, int64_t number,
                                       int64_t size) {
    auto first = static_cast<size_t>(number * size);
    return std::span(all).subspan(first, std::min(static_cast<size_t>(size), all.size() - first));
  }

  void pack(const Side& side, int64_t base, std::span<const int64_t> outer,
            std::span<const int64_t> depth, int64_t width, std::byte* to) {
    const std::byte* from = side.operand.elements.data() + base * side.bytes;
    if (!side.convert) return pack_elements(side.bytes, from, outer, depth, width, to);
    const auto count = static_cast<int64_t>(depth.size()) * width;
    std::byte* raw = raw_memory().get(count * side.bytes);
    pack_elements(side.bytes, from, outer, depth, width, raw);
    const std::byte* operands[] = {raw};
    const int64_t steps[] = {1};
    (*side.convert)(count, operands, steps, to);
  }

  struct Panel {
    const std::byte* data;
    int64_t stride;  // elements from row to row
  };
  // All columns of some rows of the right matrix, where they can be read where they lie or are
  // converted as they lie; the last panel of those may have columns too few.
  std::optional<Panel> right_rows(std::span<const int64_t> depth) {
    if (!has_right_rows_ || depth.empty()) return std::nullopt;
    const Side& right = plan_.right;
    const std::byte* from =
        right.operand.elements.data() + (right_base_ + right_columns_[0]) * right.bytes;
    if (!right.convert) {
      const auto stride = even_stride(depth);
      if (!stride) return std::nullopt;
      return Panel{from + depth[0] * right.bytes, *stride};
    }
    const int64_t width = panels_ * plan_.tile.columns, row_bytes = width * plan_.sum_bytes;
    const auto used = static_cast<size_t>(columns_ * plan_.sum_bytes);
    std::byte* rows = rows_memory().get(static_cast<int64_t>(depth.size()) * row_bytes);
    for (size_t k = 0; k < depth.size(); ++k) {
      const std::byte* operands[] = {from + depth[k] * right.bytes};
      const int64_t steps[] = {1};
      std::byte* row = rows + static_cast<int64_t>(k) * row_bytes;
      (*right.convert)(columns_, operands, steps, row);
      std::memset(row + used, 0, static_cast<size_t>(row_bytes) - used);
    }
    return Panel{rows, width};
  }

  // Panel p of some rows of the right matrix: of `rows` if there are, else packed.
  Panel right_panel(const std::optional<Panel>& rows, int64_t p, std::span<const int64_t> depth) {
    const int64_t width = plan_.tile.columns;
    const std::span<const int64_t> columns = part(right_columns_, p, width);
    if (rows && (plan_.right.convert || static_cast<int64_t>(columns.size()) == width)) {
      return {rows->data + p * width * plan_.sum_bytes, rows->stride};
    }
    std::byte* packed =
        right_memory().get(static_cast<int64_t>(depth.size()) * width * plan_.sum_bytes);
    pack(plan_.right, right_base_, columns, depth, width, packed);
    return {packed, width};
  }

  // Puts a tile of sums in place.
  void store(int64_t strip, int64_t panel, std::byte* sums) {
    const ContractTile& tile = plan_.tile;
    std::span<const int64_t> rows = part(result_rows_, strip, tile.rows);
    const int64_t count = static_cast<int64_t>(rows.size()) * tile.columns;
    canonicalize(plan_.sum_type, count, sums);
    int64_t bytes = plan_.sum_bytes;
    alignas(64) std::byte converted[ContractTile::kMaxBytes];
    if (plan_.convert) {
      const std::byte* operands[] = {sums};
      const int64_t steps[] = {1};
      (*plan_.convert)(count, operands, steps, converted);
      sums = converted;
      bytes = info(plan_.result.type).bytes;
    }
    std::span<const int64_t> columns = part(result_columns_, panel, tile.columns);
    std::byte* to = Buffer(plan_.result.elements).mutable_data();
    const bool contiguous = is_run(columns);
    for (size_t r = 0; r < rows.size(); ++r) {
      const std::byte* from = sums + static_cast<int64_t>(r) * tile.columns * bytes;
      std::byte* row = to + (result_base_ + rows[r]) * bytes;
      if (contiguous) {
        std::memcpy(row + columns[0] * bytes, from, columns.size() * static_cast<size_t>(bytes));
        continue;
      }
      for (size_t c = 0; c < columns.size(); ++c) {
        std::memcpy(row + columns[c] * bytes, from + static_cast<int64_t>(c) * bytes,
                    static_cast<size_t>(bytes));
      }
    }
  }

  const Plan& plan_;
  LateCheck is_late_;
  int64_t rows_, columns_, strips_, panels_;
  bool is_once_;         // there is one strip: the right matrix is read once
  bool has_right_rows_;  // and its columns lie side by side
  int64_t left_base_, right_base_, result_base_;
  std::vector<int64_t> left_rows_, right_columns_, result_rows_, result_columns_;
};

tl::expected<Side, Stop> side_of(KernelCall& call, MatrixProduct::Operand operand,
                                 ElementType sum_type) {
  Side side{std::move(operand), 0, std::nullopt};
  side.bytes = info(side.operand.type).bytes;
  if (side.operand.elements.is_splat()) {
    MatrixView& view = side.operand.view;
    view.offset = 0;
    for (auto* axes : {&view.groups, &view.rows, &view.columns}) {
      for (StridedAxis& axis : *axes) axis.stride = 0;
    }
  }
  if (side.operand.type != sum_type) {
    auto op = conversion(call, side.operand.type, sum_type);
    if (!op) return tl::unexpected(std::move(op.error()));
    side.convert = *op;
  }
  return side;
}

}  // namespace

KernelResult add_matrix_product(KernelCall& call, MatrixProduct product) {
  // Columns lie side by side in a register: there should be more of them than of rows. Complex
  // factors may not change places: their four products would be added in another order.
  const ContractTile tile = contract_tile(product.sum_type);
  if (count_of(product.right.view.columns) < tile.columns && !is_complex(product.sum_type) &&
      count_of(product.left.view.rows) > count_of(product.right.view.columns)) {
    std::swap(product.left, product.right);
    for (MatrixProduct::Operand* operand : {&product.left, &product.right, &product.result}) {
      std::swap(operand->view.rows, operand->view.columns);
    }
  }
  auto left = side_of(call, std::move(product.left), product.sum_type);
  if (!left) return tl::unexpected(std::move(left.error()));
  auto right = side_of(call, std::move(product.right), product.sum_type);
  if (!right) return tl::unexpected(std::move(right.error()));
  Plan plan{*std::move(left),
            *std::move(right),
            std::move(product.result),
            std::nullopt,
            product.sum_type,
            info(product.sum_type).bytes,
            tile,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            &call.context.workers};
  if (plan.result.type != plan.sum_type) {
    auto op = conversion(call, plan.sum_type, plan.result.type);
    if (!op) return tl::unexpected(std::move(op.error()));
    plan.convert = *op;
  }
  plan.rows = count_of(plan.left.operand.view.rows);
  plan.columns = count_of(plan.right.operand.view.columns);
  plan.depth = count_of(plan.left.operand.view.columns);
  const int64_t groups = count_of(plan.left.operand.view.groups);
  if (groups == 0 || plan.rows == 0 || plan.columns == 0) return {};
  auto whole = [](int64_t block, int64_t size, int64_t of_tile) {
    return std::min(block / of_tile, ceil_div(size, of_tile)) * of_tile;
  };
  plan.row_block = whole(kRows, plan.rows, tile.rows);
  const bool is_once = plan.rows <= tile.rows;
  plan.column_block =
      whole(is_once ? std::clamp(kSumsOnce / plan.rows, kColumns, kMaxColumnsOnce) : kColumns,
            plan.columns, tile.columns);
  auto cost = [&] {
    return plan.row_block * plan.column_block * std::min(plan.depth + 1, int64_t{1} << 40);
  };
  // Smaller blocks where there would be fewer than a few for each thread.
  auto blocks = [&] {
    plan.row_blocks = ceil_div(plan.rows, plan.row_block);
    plan.column_blocks = ceil_div(plan.columns, plan.column_block);
    return plan.row_blocks * plan.column_blocks;
  };
  const int64_t threads = call.context.workers.thread_count();
  const int64_t least_blocks = threads > 1 ? 4 * threads : 1;
  while (blocks() * groups < least_blocks && cost() > kSmallUnit) {
    int64_t& block = plan.column_block > tile.columns && plan.column_block >= plan.row_block
                         ? plan.column_block
                         : plan.row_block;
    const int64_t of_tile = &block == &plan.row_block ? tile.rows : tile.columns;
    if (block <= of_tile) break;
    block = ceil_div(block / 2, of_tile) * of_tile;
  }
  call.add(groups * blocks(), cost(), [plan = std::move(plan)](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) Unit(plan, i).run();
  });
  return {};
}

}  // namespace minihlo
