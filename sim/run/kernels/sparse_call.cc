// Products of a sparse matrix, kept by rows, with dense vectors or matrices, as JAX calls them on
// CPUs.
#include <algorithm>
#include <complex>

#include "sim/run/kernels/custom_call.h"

namespace minihlo {
namespace {

// Where in the matrix's values row i has its own: from integer i of `starts` on to integer i + 1.
struct Plan {
  Buffer values, starts, columns, dense, result;
  ElementType start_type, column_type;
  int64_t value_count, dense_rows, width;
};

template <class T>
void add_rows(const Plan& plan, int64_t begin, int64_t end) {
  const T* values = reinterpret_cast<const T*>(plan.values.data());
  const T* dense = reinterpret_cast<const T*>(plan.dense.data());
  T* out = reinterpret_cast<T*>(Buffer(plan.result).mutable_data());
  for (int64_t row = begin; row < end; ++row) {
    T* sums = out + row * plan.width;
    for (int64_t j = 0; j < plan.width; ++j) sums[j] = T(0);
    const int64_t first = std::max<int64_t>(0, integer_at(plan.starts, plan.start_type, row));
    const int64_t last =
        std::min(plan.value_count, integer_at(plan.starts, plan.start_type, row + 1));
    for (int64_t i = first; i < last; ++i) {
      const int64_t column = integer_at(plan.columns, plan.column_type, i);
      if (column < 0 || column >= plan.dense_rows) continue;
      const T* factors = dense + column * plan.width;
      for (int64_t j = 0; j < plan.width; ++j) sums[j] += values[i] * factors[j];
    }
  }
}

using AddRows = void (*)(const Plan&, int64_t, int64_t);

AddRows add_rows_of(ElementType type) {
  switch (type) {
    case ElementType::F32:
      return add_rows<float>;
    case ElementType::F64:
      return add_rows<double>;
    case ElementType::C64:
      return add_rows<std::complex<float>>;
    case ElementType::C128:
      return add_rows<std::complex<double>>;
    default:
      return nullptr;
  }
}

bool is_list(const Shape* shape) {
  return shape->is_array() && shape->rank() == 1 && is_integer(shape->element_type());
}

}  // namespace

KernelResult csr_product_call(KernelCall& call) {
  const Shape* result = call.instruction.shape();
  auto fits = [&] {
    if (call.instruction.operand_count() != 4 || !result->is_array() || result->rank() < 1 ||
        result->rank() > 2) {
      return false;
    }
    const Shape *values = call.operand_shape(0), *starts = call.operand_shape(1),
                *columns = call.operand_shape(2), *dense = call.operand_shape(3);
    return values->is_array() && values->rank() == 1 && is_list(starts) && is_list(columns) &&
           dense->is_array() && dense->rank() == result->rank() &&
           values->element_type() == result->element_type() &&
           dense->element_type() == result->element_type() &&
           columns->dims()[0] == values->dims()[0] && starts->dims()[0] == result->dims()[0] + 1 &&
           (result->rank() == 1 || dense->dims()[1] == result->dims()[1]);
  };
  const AddRows work = fits() ? add_rows_of(result->element_type()) : nullptr;
  if (!work) {
    return tl::unexpected(unsupported_call(
        call, "it takes values, starts of rows, columns, and a dense array of the same floats"));
  }
  std::vector<Buffer> operands;
  for (size_t i = 0; i < 4; ++i) {
    auto dense = call.dense(i);
    if (!dense) return tl::unexpected(std::move(dense.error()));
    operands.push_back(*std::move(dense));
  }
  auto to = call.allocate(result);
  if (!to) return tl::unexpected(std::move(to.error()));
  call.results.push_back(*to);
  const int64_t rows = result->dims()[0], width = result->rank() == 2 ? result->dims()[1] : 1;
  const int64_t values = call.operand_shape(0)->dims()[0];
  Plan plan{operands[0],
            operands[1],
            operands[2],
            operands[3],
            *std::move(to),
            call.operand_shape(1)->element_type(),
            call.operand_shape(2)->element_type(),
            values,
            call.operand_shape(3)->dims()[0],
            width};
  call.add(rows, (values / std::max<int64_t>(rows, 1) + 1) * width * 8,
           [plan = std::move(plan), work](int64_t begin, int64_t end) { work(plan, begin, end); });
  return {};
}

}  // namespace minihlo
