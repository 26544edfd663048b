// cholesky and triangular-solve, matrix by matrix, in (pairs of) doubles, rounded once.
#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include "sim/run/kernel.h"
#include "sim/run/kernels/complex_elements.h"

namespace minihlo {
namespace {

using Number = std::complex<double>;

// A matrix of a batch, read transposed where that is asked for.
struct Matrix {
  ElementType type;
  const std::byte* data;
  int64_t columns;
  bool transposed = false;
  bool conjugated = false;

  Number at(int64_t row, int64_t column) const {
    if (transposed) std::swap(row, column);
    Number value = load_complex(type, data, row * columns + column);
    return conjugated ? std::conj(value) : value;
  }
};

// L with L L^H = A, from A's lower triangle, or U with U^H U = A from its upper one. The other
// triangle is zero. All NaN where A is not positive definite.
void factor(const Matrix& a, int64_t n, bool lower, Number* l, std::byte* result,
            LateCheck& is_late) {
  std::fill(l, l + n * n, Number(0));
  auto at = [&](int64_t i, int64_t j) -> Number& { return l[i * n + j]; };
  bool good = true;
  for (int64_t j = 0; j < n && good; ++j) {
    double diagonal = a.at(j, j).real();
    for (int64_t k = 0; k < j; ++k) diagonal -= std::norm(at(j, k));
    good = diagonal > 0;
    const double root = std::sqrt(diagonal);
    at(j, j) = root;
    for (int64_t i = j + 1; i < n && good; ++i) {
      Number sum = lower ? a.at(i, j) : std::conj(a.at(j, i));
      for (int64_t k = 0; k < j; ++k) sum -= at(i, k) * std::conj(at(j, k));
      if (is_late(j)) return;
      at(i, j) = sum / root;
    }
  }
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      Number value = lower ? at(i, j) : std::conj(at(j, i));
      store_complex(a.type, good ? value : Number(kNaN, is_complex(a.type) ? kNaN : 0), result,
                    i * n + j);
    }
  }
}

// x with op(a) x = b: rows from the side on which op(a) has its only element.
void solve(const Matrix& a, bool lower, bool unit, int64_t n, std::vector<Number>& x,
           LateCheck& is_late) {
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = lower ? step : n - 1 - step;
    Number sum = x[static_cast<size_t>(i)];
    for (int64_t k = lower ? 0 : i + 1; k < (lower ? i : n); ++k) {
      sum -= a.at(i, k) * x[static_cast<size_t>(k)];
    }
    x[static_cast<size_t>(i)] = unit ? sum : sum / a.at(i, i);
    if (is_late(8 * (lower ? i : n - i))) return;
  }
}

}  // namespace

KernelResult cholesky_kernel(KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  auto operand = call.dense(0);
  if (!operand) return tl::unexpected(std::move(operand.error()));
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  if (shape->element_count() == 0) return {};
  const int64_t n = shape->dims().back();
  const bool lower = call.instruction.get(attr::lower);
  const int64_t bytes = n * n * info(shape->element_type()).bytes;
  int64_t work_bytes = 0;
  if (__builtin_mul_overflow(shape->element_count(), int64_t{sizeof(Number)}, &work_bytes)) {
    work_bytes = std::numeric_limits<int64_t>::max();
  }
  auto work = call.allocate(work_bytes);
  if (!work) return tl::unexpected(std::move(work.error()));
  call.add(shape->element_count() / (n * n), n * n * std::min(n, int64_t{1} << 20),
           [=, from = *operand, to = *result, work = *work, &workers = call.context.workers](
               int64_t begin, int64_t end) {
             LateCheck is_late(workers);
             auto* numbers = reinterpret_cast<Number*>(Buffer(work).mutable_data());
             for (int64_t i = begin; i < end; ++i) {
               factor({shape->element_type(), from.data() + i * bytes, n}, n, lower,
                      numbers + i * n * n, Buffer(to).mutable_data() + i * bytes, is_late);
             }
           });
  return {};
}

KernelResult triangular_solve_kernel(KernelCall& call) {
  const Instruction& instruction = call.instruction;
  const Shape* shape = instruction.shape();
  auto a = call.dense(0);
  if (!a) return tl::unexpected(std::move(a.error()));
  auto b = call.dense(1);
  if (!b) return tl::unexpected(std::move(b.error()));
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  if (shape->element_count() == 0) return {};
  const int64_t n = call.operand_shape(0)->dims().back();
  const bool left = instruction.get(attr::left_side);
  const bool unit = instruction.get(attr::unit_diagonal);
  const TransposeA transpose = instruction.get(attr::transpose_a);
  // x op(a) = b is op(a)^T x^T = b^T. Each exchange of sides turns the triangle over.
  const bool transposed = (transpose != TransposeA::kNoTranspose) == left;
  const bool lower = instruction.get(attr::lower) != transposed;
  const bool conjugated = transpose == TransposeA::kAdjoint;
  const int64_t columns = shape->dims().back(), rows = shape->dims()[shape->dims().size() - 2];
  const int64_t systems = left ? columns : rows;
  const int64_t a_bytes = n * n * info(shape->element_type()).bytes;
  const int64_t b_bytes = rows * columns * info(shape->element_type()).bytes;
  call.add(shape->element_count() / (rows * columns) * systems, n * n,
           [=, a = *a, b = *b, to = *result, &workers = call.context.workers](int64_t begin,
                                                                              int64_t end) {
             LateCheck is_late(workers);
             std::vector<Number> x(static_cast<size_t>(n));
             for (int64_t i = begin; i < end; ++i) {
               const int64_t batch = i / systems, system = i % systems;
               const Matrix matrix{shape->element_type(), a.data() + batch * a_bytes, n, transposed,
                                   conjugated};
               auto place = [&](int64_t k) {
                 return left ? k * columns + system : system * columns + k;
               };
               for (int64_t k = 0; k < n; ++k) {
                 x[static_cast<size_t>(k)] =
                     load_complex(shape->element_type(), b.data() + batch * b_bytes, place(k));
               }
               solve(matrix, lower, unit, n, x, is_late);
               for (int64_t k = 0; k < n; ++k) {
                 store_complex(shape->element_type(), x[static_cast<size_t>(k)],
                               Buffer(to).mutable_data() + batch * b_bytes, place(k));
               }
             }
           });
  return {};
}

}  // namespace minihlo
