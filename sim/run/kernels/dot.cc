// dot: each result element is the sum over the contracted indices, in row-major order of how the
// attribute lists them.
#include "sim/run/kernels/dot.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/run/kernels/contract.h"
#include "sim/run/kernels/contraction.h"
#include "sim/run/kernels/matrix_product.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

std::vector<StridedAxis> pick(const Shape* shape, std::span<const int64_t> dims) {
  std::vector<int64_t> strides = row_major_strides(shape->dims());
  std::vector<StridedAxis> axes;
  for (int64_t dim : dims) axes.push_back({shape->dim(dim), strides[static_cast<size_t>(dim)]});
  return merge_axes(axes);
}

std::vector<int64_t> free_dims(const Shape* shape, std::span<const int64_t> batch,
                               std::span<const int64_t> contracting) {
  std::vector<int64_t> free;
  for (int64_t i = 0; i < shape->rank(); ++i) {
    if (std::ranges::find(batch, i) == batch.end() &&
        std::ranges::find(contracting, i) == contracting.end()) {
      free.push_back(i);
    }
  }
  return free;
}

// A side of the product: its elements, and their type.
struct Side {
  Buffer elements;
  ElementType type;
};

KernelResult add_dot(KernelCall& call, const Side& left, const Side& right) {
  const Instruction& dot = call.instruction;
  const Shape *lhs = call.operand_shape(0), *rhs = call.operand_shape(1), *shape = dot.shape();
  std::span<const int64_t> lhs_batch = dot.get(attr::lhs_batch_dims);
  std::span<const int64_t> rhs_batch = dot.get(attr::rhs_batch_dims);
  std::span<const int64_t> lhs_depth = dot.get(attr::lhs_contracting_dims);
  std::span<const int64_t> rhs_depth = dot.get(attr::rhs_contracting_dims);
  const std::vector<int64_t> lhs_free = free_dims(lhs, lhs_batch, lhs_depth);
  const std::vector<int64_t> rhs_free = free_dims(rhs, rhs_batch, rhs_depth);
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  MatrixProduct product;
  product.sum_type = contraction_type(shape->element_type());
  product.left = {
      left.elements, left.type, {pick(lhs, lhs_batch), pick(lhs, lhs_free), pick(lhs, lhs_depth)}};
  product.right = {right.elements,
                   right.type,
                   {pick(rhs, rhs_batch), pick(rhs, rhs_depth), pick(rhs, rhs_free)}};
  // The result has the batch dimensions, lhs's own and rhs's own, in this order.
  const int64_t rows = count_of(product.left.view.rows);
  const int64_t columns = count_of(product.right.view.columns);
  product.result = {
      *result,
      shape->element_type(),
      {{{count_of(product.left.view.groups), rows * columns}}, {{rows, columns}}, {{columns, 1}}}};
  return add_matrix_product(call, std::move(product));
}

// Operand i in `type`, each element multiplied by that of its block of the scale, operand 2 + i.
tl::expected<Buffer, Stop> scaled(KernelCall& call, size_t i, ElementType type) {
  auto elements = converted_operand(call, i, type);
  const Shape *shape = call.operand_shape(i), *scale_shape = call.operand_shape(2 + i);
  if (!elements || scale_shape->rank() != shape->rank() || shape->rank() == 0) return elements;
  auto scales = converted_operand(call, 2 + i, type);
  if (!scales) return scales;
  const ElementType types[] = {type, type};
  auto multiply = elementwise_op(ElementwiseSignature{Opcode::kMultiply, types, type, {}});
  if (!multiply) {
    return tl::unexpected(Stop::unsupported(
        "scaled-dot",
        fmt::format("{}: {}", instruction_place(call.instruction), multiply.error())));
  }
  const int64_t width = info(type).bytes, count = shape->element_count();
  auto result = call.allocate(count * width);
  if (!result || count == 0) return result;
  const std::vector<int64_t> strides = row_major_strides(shape->dims());
  const std::vector<int64_t> scale_strides = row_major_strides(scale_shape->dims());
  std::byte* to = result->mutable_data();
  Work work{count, 64, [&](int64_t begin, int64_t end) {
              for (int64_t at = begin; at < end; ++at) {
                int64_t place = 0;
                for (size_t k = 0; k < strides.size(); ++k) {
                  const int64_t size = shape->dims()[k], index = at / strides[k] % size;
                  place += index / (size / scale_shape->dims()[k]) * scale_strides[k];
                }
                const std::byte* operands[] = {elements->data() + at * width,
                                               scales->data() + place * width};
                const int64_t steps[] = {1, 1};
                (*multiply)(1, operands, steps, to + at * width);
              }
            }};
  if (auto stop = call.context.workers.run({&work, 1})) return tl::unexpected(*std::move(stop));
  return result;
}

}  // namespace

KernelResult dot_kernel(KernelCall& call) {
  if (call.operands.size() != 2) {
    return tl::unexpected(Stop::unsupported("sparse dot", "a dot of sparse or scaled operands"));
  }
  return add_dot(call, {call.operands[0], call.operand_shape(0)->element_type()},
                 {call.operands[1], call.operand_shape(1)->element_type()});
}

KernelResult scaled_dot_kernel(KernelCall& call) {
  const ElementType type = contraction_type(call.instruction.shape()->element_type());
  auto left = scaled(call, 0, type);
  if (!left) return tl::unexpected(std::move(left.error()));
  auto right = scaled(call, 1, type);
  if (!right) return tl::unexpected(std::move(right.error()));
  return add_dot(call, {*std::move(left), type}, {*std::move(right), type});
}

}  // namespace minihlo
