// ragged-dot whose ragged dimension is one of lhs's own: each of its indices belongs to a group,
// which says which slice of rhs it meets. Indices behind the last group give zero.
#include <algorithm>
#include <cstring>

#include "ir/numbers.h"
#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"
#include "sim/run/kernels/contract.h"
#include "sim/run/kernels/contraction.h"

namespace minihlo {
namespace {

bool contains(std::span<const int64_t> dims, int64_t dim) {
  return std::ranges::find(dims, dim) != dims.end();
}

struct Plan {
  ElementType type;
  int64_t width;
  Buffer lhs, rhs, sizes, sums;
  ElementType size_type;
  int64_t group_count, ragged_size;
  std::vector<StridedAxis> lhs_axes;  // as the result has them: batch, lhs's own
  std::vector<StridedAxis> lhs_depth, rhs_batch, rhs_columns, rhs_depth;
  int64_t batch_count, ragged_inner;  // how many rows share a ragged index
  int64_t rhs_group_stride;
};

// One row of the result: everything but rhs's own dimensions fixed.
void row(const Plan& plan, int64_t number) {
  const int64_t rows = count_of(plan.lhs_axes) / plan.batch_count;
  const int64_t columns = count_of(plan.rhs_columns), depth = count_of(plan.lhs_depth);
  std::byte* to = Buffer(plan.sums).mutable_data() + number * columns * plan.width;
  int64_t ragged = number / plan.ragged_inner % plan.ragged_size, group = 0;
  for (; group < plan.group_count; ++group) {
    const int64_t size = std::max<int64_t>(0, integer_at(plan.sizes, plan.size_type, group));
    if (ragged < size) break;
    ragged -= size;
  }
  if (group == plan.group_count) {
    std::memset(to, 0, static_cast<size_t>(columns * plan.width));
    return;
  }
  const std::byte* a = plan.lhs.data() + OffsetWalk(plan.lhs_axes, number).offset() * plan.width;
  const std::byte* b = plan.rhs.data() + (OffsetWalk(plan.rhs_batch, number / rows).offset() +
                                          group * plan.rhs_group_stride) *
                                             plan.width;
  const int64_t blocks = (columns + kTileColumns - 1) / kTileColumns;
  alignas(64) std::byte sums[kTileRows * kTileColumns * 16];
  // The depth goes in steps that fit into small panels.
  constexpr int64_t kDepth = 64;
  alignas(64) std::byte left[kDepth * kTileRows * 16] = {};
  alignas(64) std::byte right[kDepth * kTileColumns * 16] = {};
  const auto width = static_cast<size_t>(plan.width);
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = block * kTileColumns, used = std::min(kTileColumns, columns - first);
    OffsetWalk at_left(plan.lhs_depth), at_right(plan.rhs_depth);
    int64_t done = 0;
    do {
      const int64_t size = std::min(kDepth, depth - done);
      for (int64_t k = 0; k < size; ++k, at_left.next(), at_right.next()) {
        std::memcpy(left + static_cast<size_t>(k * kTileRows) * width,
                    a + at_left.offset() * plan.width, width);
        OffsetWalk column(plan.rhs_columns, first);
        for (int64_t c = 0; c < used; ++c, column.next()) {
          std::memcpy(right + static_cast<size_t>(k * kTileColumns + c) * width,
                      b + (at_right.offset() + column.offset()) * plan.width, width);
        }
      }
      contract_tile(plan.type)(size, left, right, done > 0, sums);
      done += size;
    } while (done < depth);
    store_tile(plan.type, sums, 1, used, to + first * plan.width, columns);
  }
}

}  // namespace

KernelResult ragged_dot_kernel(KernelCall& call) {
  const Instruction& dot = call.instruction;
  const Shape *lhs = call.operand_shape(0), *rhs = call.operand_shape(1);
  std::span<const int64_t> ragged = dot.get(attr::lhs_ragged_dims);
  std::span<const int64_t> group = dot.get(attr::rhs_group_dims);
  std::span<const int64_t> lhs_batch = dot.get(attr::lhs_batch_dims);
  std::span<const int64_t> lhs_contracting = dot.get(attr::lhs_contracting_dims);
  std::span<const int64_t> rhs_batch = dot.get(attr::rhs_batch_dims);
  std::span<const int64_t> rhs_contracting = dot.get(attr::rhs_contracting_dims);
  if (ragged.size() != 1 || group.size() != 1 || contains(lhs_batch, ragged[0]) ||
      contains(lhs_contracting, ragged[0]) || call.operand_shape(2)->rank() != 1) {
    return tl::unexpected(Stop::unsupported(
        "ragged-dot", "a ragged dimension that is contracted or a batch dimension"));
  }
  const ElementType type = contraction_type(dot.shape()->element_type());
  Buffer operands[2];
  for (size_t i = 0; i < 2; ++i) {
    auto operand = converted_operand(call, i, type);
    if (!operand) return tl::unexpected(std::move(operand.error()));
    operands[i] = *std::move(operand);
  }
  const int64_t width = info(type).bytes;
  auto sums = call.allocate(dot.shape()->element_count() * width);
  if (!sums) return tl::unexpected(std::move(sums.error()));
  Plan plan{type,
            width,
            operands[0],
            operands[1],
            call.operands[2],
            *sums,
            call.operand_shape(2)->element_type(),
            call.operand_shape(2)->element_count(),
            lhs->dim(ragged[0]),
            {},
            {},
            {},
            {},
            {},
            1,
            1,
            row_major_strides(rhs->dims())[static_cast<size_t>(group[0])]};
  auto axis = [](const Shape* shape, int64_t dim) {
    return StridedAxis{shape->dim(dim), row_major_strides(shape->dims())[static_cast<size_t>(dim)]};
  };
  for (int64_t dim : lhs_batch) {
    plan.lhs_axes.push_back(axis(lhs, dim));
    plan.batch_count *= lhs->dim(dim);
  }
  for (int64_t dim : rhs_batch) plan.rhs_batch.push_back(axis(rhs, dim));
  for (int64_t dim : lhs_contracting) plan.lhs_depth.push_back(axis(lhs, dim));
  for (int64_t dim : rhs_contracting) plan.rhs_depth.push_back(axis(rhs, dim));
  bool behind = false;
  for (int64_t dim = 0; dim < lhs->rank(); ++dim) {
    if (contains(lhs_batch, dim) || contains(lhs_contracting, dim)) continue;
    plan.lhs_axes.push_back(axis(lhs, dim));
    if (behind) plan.ragged_inner *= lhs->dim(dim);
    behind = behind || dim == ragged[0];
  }
  for (int64_t dim = 0; dim < rhs->rank(); ++dim) {
    if (contains(rhs_batch, dim) || contains(rhs_contracting, dim) || dim == group[0]) continue;
    plan.rhs_columns.push_back(axis(rhs, dim));
  }
  if (dot.shape()->element_count() > 0) {
    const int64_t rows = count_of(plan.lhs_axes);
    const int64_t cost = std::min(count_of(plan.rhs_columns), int64_t{1} << 30) *
                         std::min(count_of(plan.lhs_depth) + 1, int64_t{1} << 30);
    call.add(rows, cost, [plan = std::move(plan)](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) row(plan, i);
    });
  }
  return convert_result(call, *sums, type);
}

}  // namespace minihlo
