// trsm, gtsv.
#include "sim/run/lapack/reflectors.h"

namespace minihlo::lapack {
namespace {

template <class T>
Matrix<T> applied(const Matrix<T>& a, char trans) {
  if (trans == 'T') return a.transpose();
  if (trans == 'C') return a.adjoint();
  return a;
}

}  // namespace

// op(A) X = alpha C or X op(A) = alpha C, by substitution column by column of op(A).
template <class T>
void trsm(Problem& problem) {
  const Options& options = problem.options();
  const bool left = options.side == 'L', unit = options.diag == 'U';
  // X op(A) = C is op(A)^T X^T = C^T.
  Matrix<T> a = applied<T>(problem.get<T>('A'), options.trans);
  Matrix<T> x = problem.get<T>('C');
  if (!left) {
    a.transposeInPlace();
    x.transposeInPlace();
  }
  if (problem.has_operand('X')) x *= problem.get<T>('X')(0, 0);
  const bool lower = (options.uplo == 'L') == ((options.trans == 'N') == left);
  const int64_t n = a.rows();
  for (int64_t step = 0; step < n && !problem.is_late(); ++step) {
    const int64_t k = lower ? step : n - 1 - step;
    if (!unit) x.row(k) /= a(k, k);
    const int64_t first = lower ? k + 1 : 0, count = lower ? n - k - 1 : k;
    x.middleRows(first, count).noalias() -= a.col(k).segment(first, count) * x.row(k);
  }
  if (left) {
    problem.set('C', x);
  } else {
    problem.set('C', x.transpose());
  }
}

// Elimination with exchanges of neighbouring rows. The first element below the diagonal and the
// last above it do not count. info: the first pivot that is zero, unless such ones are moved.
template <class T>
void gtsv(Problem& problem) {
  auto size = [](const T& value) {
    return std::abs(real_part(value)) + std::abs(imag_part(value));
  };
  Vector<T> below = problem.get<T>('L'), diagonal = problem.get<T>('D'),
            above = problem.get<T>('U');
  Matrix<T> x = problem.get<T>('C');
  const int64_t n = diagonal.size();
  const double least = problem.options().least_pivot;
  int32_t info = 0;
  for (int64_t k = 0; k + 1 < n && info == 0; ++k) {
    T& low = below(k + 1);
    if (low == T(0)) {
      if (diagonal(k) == T(0) && least == 0) info = static_cast<int32_t>(k + 1);
      continue;
    }
    if (size(diagonal(k)) >= size(low)) {
      const T factor = low / diagonal(k);
      diagonal(k + 1) -= factor * above(k);
      x.row(k + 1) -= factor * x.row(k);
      low = T(0);
      continue;
    }
    const T factor = diagonal(k) / low;
    diagonal(k) = low;
    const T next = diagonal(k + 1);
    diagonal(k + 1) = above(k) - factor * next;
    low = T(0);
    if (k + 2 < n) {
      low = above(k + 1);  // what fills in, two above the diagonal
      above(k + 1) = -factor * above(k + 1);
    }
    above(k) = next;
    x.row(k).swap(x.row(k + 1));
    x.row(k + 1) -= factor * x.row(k);
  }
  if (least > 0) {
    double largest = 0;
    for (int64_t k = 0; k < n; ++k) {
      largest = std::max({largest, size(diagonal(k)), k + 1 < n ? size(above(k)) : 0.0,
                          k + 2 < n ? size(below(k + 1)) : 0.0});
    }
    const double pivot = largest > 0 ? least * largest : least;
    for (T& value : diagonal) {
      if (size(value) < pivot) value = real_part(value) < 0 ? T(-pivot) : T(pivot);
    }
  }
  if (info == 0 && n > 0 && diagonal(n - 1) == T(0)) info = static_cast<int32_t>(n);
  for (int64_t k = n - 1; k >= 0 && info == 0 && !problem.is_late(); --k) {
    if (k + 1 < n) x.row(k) -= above(k) * x.row(k + 1);
    if (k + 2 < n) x.row(k) -= below(k + 1) * x.row(k + 2);
    x.row(k) /= diagonal(k);
  }
  problem.set('L', below);
  problem.set('D', diagonal);
  problem.set('U', above);
  problem.set('C', x);
  problem.set_integer('I', 0, info);
}

#define INSTANTIATE(T)             \
  template void trsm<T>(Problem&); \
  template void gtsv<T>(Problem&);
INSTANTIATE(double)
INSTANTIATE(std::complex<double>)
#undef INSTANTIATE

}  // namespace minihlo::lapack
