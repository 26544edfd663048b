// dot: each result element is the sum over the contracted indices, in row-major order of how the
// attribute lists them.
#include <algorithm>
#include <limits>
#include <utility>

#include "sim/run/kernel.h"
#include "sim/run/kernels/contract.h"
#include "sim/run/kernels/contraction.h"

namespace minihlo {
namespace {

struct Side {
  MatrixView view;
  Buffer elements;
  Buffer panels;
};

std::vector<StridedAxis> pick(const Shape* shape, std::span<const int64_t> dims) {
  std::vector<int64_t> strides = row_major_strides(shape->dims());
  std::vector<StridedAxis> axes;
  for (int64_t dim : dims) axes.push_back({shape->dim(dim), strides[static_cast<size_t>(dim)]});
  return merge_axes(axes);
}

MatrixView view_of(const Shape* shape, std::span<const int64_t> batch,
                   std::span<const int64_t> contracting) {
  std::vector<int64_t> free;
  for (int64_t i = 0; i < shape->rank(); ++i) {
    if (std::ranges::find(batch, i) == batch.end() &&
        std::ranges::find(contracting, i) == contracting.end()) {
      free.push_back(i);
    }
  }
  return {pick(shape, batch), pick(shape, free), pick(shape, contracting)};
}

KernelResult pack(KernelCall& call, Side& side, int64_t width, int64_t block) {
  int64_t panels = panel_count(side.view, block), depth = count_of(side.view.depth);
  int64_t bytes = 0;
  if (__builtin_mul_overflow(panels * block * width, depth, &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();
  }
  auto memory = call.allocate(bytes);
  if (!memory) return tl::unexpected(std::move(memory.error()));
  side.panels = *std::move(memory);
  std::byte* to = side.panels.mutable_data();
  call.add(panels, depth * block * width, [=](int64_t begin, int64_t end) {
    pack_panels(side.view, side.elements.data(), width, block, begin, end, to);
  });
  return {};
}

}  // namespace

KernelResult dot_kernel(KernelCall& call) {
  const Instruction& dot = call.instruction;
  if (call.operands.size() != 2) {
    return tl::unexpected(Stop::unsupported("sparse dot", "a dot of sparse or scaled operands"));
  }
  const ElementType type = contraction_type(dot.shape()->element_type());
  const int64_t width = info(type).bytes;
  Side left{view_of(call.operand_shape(0), dot.get(attr::lhs_batch_dims),
                    dot.get(attr::lhs_contracting_dims)),
            {},
            {}};
  Side right{view_of(call.operand_shape(1), dot.get(attr::rhs_batch_dims),
                     dot.get(attr::rhs_contracting_dims)),
             {},
             {}};
  size_t operand = 0;
  for (Side* side : {&left, &right}) {
    auto elements = converted_operand(call, operand++, type);
    if (!elements) return tl::unexpected(std::move(elements.error()));
    side->elements = *std::move(elements);
  }
  // A matrix by a vector is a vector by a matrix: factors may change places, but complex ones,
  // whose four products would be added in another order.
  if (count_of(right.view.rows) == 1 && !is_complex(type)) std::swap(left, right);
  auto sums = call.allocate(dot.shape()->element_count() * width);
  if (!sums) return tl::unexpected(std::move(sums.error()));
  if (dot.shape()->element_count() == 0) return convert_result(call, *sums, type);
  if (KernelResult done = pack(call, left, width, kTileRows); !done) return done;
  if (KernelResult done = pack(call, right, width, kTileColumns); !done) return done;
  call.next_stage();

  const int64_t rows = count_of(left.view.rows), columns = count_of(right.view.rows);
  const int64_t depth = count_of(left.view.depth);
  const int64_t row_blocks = (rows + kTileRows - 1) / kTileRows;
  const int64_t column_blocks = (columns + kTileColumns - 1) / kTileColumns;
  const ContractTile tile = contract_tile(type);
  std::byte* to = sums->mutable_data();
  // One unit: a strip of result rows of one batch index.
  call.add(count_of(left.view.groups) * row_blocks,
           std::min(kTileRows * columns, int64_t{1} << 30) * std::min(depth + 1, int64_t{1} << 30),
           [=, left = left.panels, right = right.panels](int64_t begin, int64_t end) {
             alignas(64) std::byte tile_sums[kTileRows * kTileColumns * 16];
             for (int64_t unit = begin; unit < end; ++unit) {
               const int64_t group = unit / row_blocks, row = unit % row_blocks * kTileRows;
               const std::byte* a = left.data() + unit * depth * kTileRows * width;
               for (int64_t j = 0; j < column_blocks; ++j) {
                 const std::byte* b =
                     right.data() + (group * column_blocks + j) * depth * kTileColumns * width;
                 tile(depth, a, b, false, tile_sums);
                 store_tile(type, tile_sums, std::min(kTileRows, rows - row),
                            std::min(kTileColumns, columns - j * kTileColumns),
                            to + ((group * rows + row) * columns + j * kTileColumns) * width,
                            columns);
               }
             }
           });
  return convert_result(call, *sums, type);
}

}  // namespace minihlo
