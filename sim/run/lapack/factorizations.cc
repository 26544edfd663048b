// potrf, getrf, geqrf, geqp3, orgqr, ormqr, gehrd, sytrd.
#include <numeric>

#include "sim/run/lapack/reflectors.h"

namespace minihlo::lapack {

// L L^H or U^H U in the triangle that counts; the other one stays. info: the order of the first
// leading minor that is not positive.
template <class T>
void potrf(Problem& problem) {
  Matrix<T> a = problem.get<T>('A');
  const int64_t n = a.rows();
  const bool lower = problem.options().uplo == 'L';
  int32_t info = 0;
  auto at = [&](int64_t i, int64_t j) -> T& { return lower ? a(i, j) : a(j, i); };
  for (int64_t j = 0; j < n && !problem.is_late(); ++j) {
    RealOf<T> pivot = real_part(a(j, j));
    for (int64_t k = 0; k < j; ++k) pivot -= Eigen::numext::abs2(at(j, k));
    if (!(pivot > 0)) {
      a(j, j) = T(pivot);
      info = static_cast<int32_t>(j + 1);
      break;
    }
    const RealOf<T> root = std::sqrt(pivot);
    a(j, j) = T(root);
    const int64_t rest = n - j - 1;
    if (lower) {
      a.col(j).tail(rest).noalias() -= a.bottomLeftCorner(rest, j) * a.row(j).head(j).adjoint();
      a.col(j).tail(rest) /= T(root);
    } else {
      a.row(j).tail(rest).noalias() -= a.col(j).head(j).adjoint() * a.topRightCorner(j, rest);
      a.row(j).tail(rest) /= T(root);
    }
  }
  problem.set('A', a);
  problem.set_integer('I', 0, info);
}

// P A = L U with the largest |re| + |im| of a column as pivot, the first of equal ones. info: the
// first pivot that is zero.
template <class T>
void getrf(Problem& problem) {
  Matrix<T> a = problem.get<T>('A');
  const int64_t m = a.rows(), n = a.cols();
  int32_t info = 0;
  auto size = [](const T& x) { return std::abs(real_part(x)) + std::abs(imag_part(x)); };
  for (int64_t j = 0; j < std::min(m, n) && !problem.is_late(); ++j) {
    int64_t pivot = j;
    for (int64_t i = j + 1; i < m; ++i) {
      if (size(a(i, j)) > size(a(pivot, j))) pivot = i;
    }
    problem.set_integer('P', j, static_cast<int32_t>(pivot + 1));
    if (a(pivot, j) != T(0)) {
      if (pivot != j) a.row(j).swap(a.row(pivot));
      a.col(j).tail(m - j - 1) /= a(j, j);
    } else if (info == 0) {
      info = static_cast<int32_t>(j + 1);
    }
    a.bottomRightCorner(m - j - 1, n - j - 1).noalias() -=
        a.col(j).tail(m - j - 1) * a.row(j).tail(n - j - 1);
  }
  problem.set('A', a);
  problem.set_integer('I', 0, info);
}

template <class T>
void geqrf(Problem& problem) {
  Matrix<T> a = problem.get<T>('A');
  problem.set('T', factor_qr(a, problem));
  problem.set('A', a);
}

// Columns named in P stay in front; of the others the one with the largest norm of what is left
// comes next. Norms are carried on, and worked out anew where too much of them has cancelled.
template <class T>
void geqp3(Problem& problem) {
  using R = RealOf<T>;
  Matrix<T> a = problem.get<T>('A');
  const int64_t m = a.rows(), n = a.cols(), k = std::min(m, n);
  std::vector<int32_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 1);
  auto exchange = [&](int64_t i, int64_t j) {
    if (i == j) return;
    a.col(i).swap(a.col(j));
    std::swap(order[static_cast<size_t>(i)], order[static_cast<size_t>(j)]);
  };
  int64_t fixed = 0;
  for (int64_t j = 0; j < n; ++j) {
    if (problem.integer('P', j) != 0) exchange(j, fixed++);
  }
  Vector<T> tau = Vector<T>::Zero(k);
  Vector<R> norm(n), known(n);
  const R tolerance = std::sqrt(Eigen::NumTraits<R>::epsilon() / 2);
  for (int64_t i = 0; i < k && !problem.is_late(); ++i) {
    if (i == std::min(fixed, k)) {
      for (int64_t j = i; j < n; ++j) norm(j) = known(j) = a.col(j).tail(m - i).norm();
    }
    if (i >= fixed) {
      int64_t pivot = i;
      for (int64_t j = i + 1; j < n; ++j) {
        if (norm(j) > norm(pivot)) pivot = j;
      }
      exchange(i, pivot);
      norm(pivot) = norm(i);
      known(pivot) = known(i);
    }
    tau(i) = make_reflector(a(i, i), a.col(i).tail(m - i - 1));
    reflect_left(conjugate(tau(i)), reflector_column(a, i, i, m),
                 a.block(i, i + 1, m - i, n - i - 1));
    for (int64_t j = i + 1; j < n && i >= fixed; ++j) {
      if (norm(j) == 0) continue;
      const R part = std::abs(a(i, j)) / norm(j);
      const R left = std::max(R(0), (1 + part) * (1 - part));
      if (left * (norm(j) / known(j)) * (norm(j) / known(j)) <= tolerance) {
        norm(j) = known(j) = a.col(j).tail(m - i - 1).norm();
      } else {
        norm(j) *= std::sqrt(left);
      }
    }
  }
  problem.set('A', a);
  problem.set('T', tau);
  for (int64_t j = 0; j < n; ++j) problem.set_integer('P', j, order[static_cast<size_t>(j)]);
}

template <class T>
void orgqr(Problem& problem) {
  const Matrix<T> a = problem.get<T>('A');
  const Vector<T> tau = problem.get<T>('T');
  problem.set('A', product_of_reflectors(a, tau, a.cols(), 0, problem));
}

// op(Q) C or C op(Q).
template <class T>
void ormqr(Problem& problem) {
  const Matrix<T> a = problem.get<T>('A');
  const Vector<T> tau = problem.get<T>('T');
  Matrix<T> c = problem.get<T>('C');
  const bool left = problem.options().side == 'L', adjoint = problem.options().trans != 'N';
  const int64_t count = tau.size();
  // Q C applies the last reflector first, as does C Q^H.
  for (int64_t step = 0; step < count && !problem.is_late(); ++step) {
    const int64_t i = left == adjoint ? step : count - 1 - step;
    const T scale = adjoint ? conjugate(tau(i)) : tau(i);
    const Vector<T> v = reflector_column(a, i, i, a.rows());
    if (left) {
      reflect_left(scale, v, c.bottomRows(a.rows() - i));
    } else {
      reflect_right(scale, v, c.rightCols(a.rows() - i));
    }
  }
  problem.set('C', c);
}

template <class T>
void gehrd(Problem& problem) {
  Matrix<T> a = problem.get<T>('A');
  const Options& options = problem.options();
  problem.set('T', make_hessenberg(a, options.low - 1, options.high, problem));
  problem.set('A', a);
}

template <class T>
void sytrd(Problem& problem) {
  Matrix<T> a = problem.get<T>('A');
  const Tridiagonal<T> tridiagonal = make_tridiagonal(a, problem.options().uplo == 'L', problem);
  problem.set('A', a);
  problem.set('D', tridiagonal.diagonal);
  problem.set('E', tridiagonal.beside);
  problem.set('T', tridiagonal.tau);
}

#define INSTANTIATE(T)              \
  template void potrf<T>(Problem&); \
  template void getrf<T>(Problem&); \
  template void geqrf<T>(Problem&); \
  template void geqp3<T>(Problem&); \
  template void orgqr<T>(Problem&); \
  template void ormqr<T>(Problem&); \
  template void gehrd<T>(Problem&); \
  template void sytrd<T>(Problem&);
INSTANTIATE(double)
INSTANTIATE(std::complex<double>)
#undef INSTANTIATE

}  // namespace minihlo::lapack
