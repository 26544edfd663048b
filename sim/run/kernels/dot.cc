// dot: each result element is the sum over the contracted indices, in row-major order of how the
// attribute lists them.
#include <algorithm>
#include <utility>

#include "sim/run/kernel.h"
#include "sim/run/kernels/contract.h"
#include "sim/run/kernels/matrix_product.h"

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

}  // namespace

KernelResult dot_kernel(KernelCall& call) {
  const Instruction& dot = call.instruction;
  if (call.operands.size() != 2) {
    return tl::unexpected(Stop::unsupported("sparse dot", "a dot of sparse or scaled operands"));
  }
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
  product.left = {call.operands[0],
                  lhs->element_type(),
                  {pick(lhs, lhs_batch), pick(lhs, lhs_free), pick(lhs, lhs_depth)}};
  product.right = {call.operands[1],
                   rhs->element_type(),
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

}  // namespace minihlo
