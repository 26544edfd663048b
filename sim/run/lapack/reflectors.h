// Householder reflectors H = I - tau v v^H as LAPACK makes them, and what is built of them. Signs
// and phases of factors follow from these rules.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/run/lapack/problem.h"

namespace minihlo::lapack {

template <class T>
T conjugate(const T& x) {
  return Eigen::numext::conj(x);
}
template <class T>
RealOf<T> real_part(const T& x) {
  return Eigen::numext::real(x);
}
template <class T>
RealOf<T> imag_part(const T& x) {
  return Eigen::numext::imag(x);
}

/// The largest real or imaginary part, in size; squares of numbers could overflow.
template <class T>
RealOf<T> largest_part(const Matrix<T>& matrix) {
  RealOf<T> largest = 0;
  for (int64_t i = 0; i < matrix.size(); ++i) {
    const T& x = matrix.data()[i];
    largest = std::max({largest, std::abs(real_part(x)), std::abs(imag_part(x))});
  }
  return largest;
}

/// larfg: H with H^H (alpha, x) = (beta, 0), beta real, of the opposite sign of alpha's real part.
/// v is 1, then what `x` becomes; alpha becomes beta. Returns tau; 0 where there is nothing to do.
template <class T, class X>
T make_reflector(T& alpha, X&& x) {
  using R = RealOf<T>;
  const R rest = x.size() == 0 ? R(0) : x.stableNorm();
  if (rest == 0 && imag_part(alpha) == 0) return T(0);
  const R size = std::hypot(std::hypot(real_part(alpha), imag_part(alpha)), rest);
  const R beta = std::signbit(real_part(alpha)) ? size : -size;
  T tau;
  if constexpr (Eigen::NumTraits<T>::IsComplex) {
    tau = T((beta - alpha.real()) / beta, -alpha.imag() / beta);
  } else {
    tau = (beta - alpha) / beta;
  }
  x *= T(1) / (alpha - T(beta));
  alpha = T(beta);
  return tau;
}

/// c := (I - tau v v^H) c
template <class T, class V, class C>
void reflect_left(const T& tau, const V& v, C&& c) {
  if (tau == T(0) || c.cols() == 0) return;
  const Matrix<T> products = v.adjoint() * c;
  c.noalias() -= (tau * v) * products;
}
/// c := c (I - tau v v^H)
template <class T, class V, class C>
void reflect_right(const T& tau, const V& v, C&& c) {
  if (tau == T(0) || c.rows() == 0) return;
  const Vector<T> products = c * v;
  c.noalias() -= (tau * products) * v.adjoint();
}

/// The v of a reflector that is kept below a diagonal: 1, then column `column` from `row` + 1 on to
/// before `end`.
template <class T>
Vector<T> reflector_column(const Matrix<T>& a, int64_t row, int64_t column, int64_t end) {
  Vector<T> v = a.col(column).segment(row, end - row);
  v(0) = T(1);
  return v;
}

/// geqr2 of a(from.., from..): R on and above the diagonal, reflectors below. Q = H_0 H_1 ...
template <class T>
Vector<T> factor_qr(Matrix<T>& a, const Problem& problem) {
  const int64_t m = a.rows(), n = a.cols(), k = std::min(m, n);
  Vector<T> tau = Vector<T>::Zero(k);
  for (int64_t i = 0; i < k && !problem.is_late(); ++i) {
    tau(i) = make_reflector(a(i, i), a.col(i).tail(m - i - 1));
    reflect_left(conjugate(tau(i)), reflector_column(a, i, i, m),
                 a.block(i, i + 1, m - i, n - i - 1));
  }
  return tau;
}

/// gelq2: L on and below the diagonal, reflectors to the right. A = L Q, Q^H = H_0 H_1 ... of the
/// conjugated rows.
template <class T>
Vector<T> factor_lq(Matrix<T>& a, const Problem& problem) {
  Matrix<T> adjoint = a.adjoint();
  Vector<T> tau = factor_qr(adjoint, problem);
  a = adjoint.adjoint();
  return tau;
}

/// The first `columns` columns of H_0 H_1 ...; the v's stand in `a` below `shift` below the
/// diagonal.
template <class T>
Matrix<T> product_of_reflectors(const Matrix<T>& a, const Vector<T>& tau, int64_t columns,
                                int64_t shift, const Problem& problem) {
  const int64_t m = a.rows();
  Matrix<T> q = Matrix<T>::Identity(m, columns);
  for (int64_t i = tau.size() - 1; i >= 0 && !problem.is_late(); --i) {
    reflect_left(tau(i), reflector_column(a, i + shift, i, m), q.bottomRows(m - i - shift));
  }
  return q;
}

/// sytd2: the tridiagonal matrix that one triangle of a Hermitian one is similar to. The reflectors
/// replace that triangle.
template <class T>
struct Tridiagonal {
  Vector<RealOf<T>> diagonal, beside;
  Vector<T> tau;
};

template <class T>
Tridiagonal<T> make_tridiagonal(Matrix<T>& a, bool lower, const Problem& problem) {
  const int64_t n = a.rows();
  const int64_t reflectors = std::max<int64_t>(n - 1, 0);
  Tridiagonal<T> result{Vector<RealOf<T>>(n), Vector<RealOf<T>>::Zero(reflectors),
                        Vector<T>::Zero(reflectors)};
  // Rank-two update of the part that is left: A - v w^H - w v^H, in the triangle that counts.
  auto update = [&](int64_t from, int64_t size, const Vector<T>& v, const T& tau) {
    auto rest = a.block(from, from, size, size);
    Vector<T> w = lower ? Vector<T>(rest.template selfadjointView<Eigen::Lower>() * v)
                        : Vector<T>(rest.template selfadjointView<Eigen::Upper>() * v);
    w *= tau;
    w += (T(-0.5) * tau * w.dot(v)) * v;
    if (lower) {
      rest.template selfadjointView<Eigen::Lower>().rankUpdate(v, w, T(-1));
    } else {
      rest.template selfadjointView<Eigen::Upper>().rankUpdate(v, w, T(-1));
    }
  };
  if (lower) {
    for (int64_t i = 0; i + 1 < n && !problem.is_late(); ++i) {
      T alpha = a(i + 1, i);
      result.tau(i) = make_reflector(alpha, a.col(i).tail(n - i - 2));
      result.beside(i) = real_part(alpha);
      if (result.tau(i) != T(0)) {
        update(i + 1, n - i - 1, reflector_column(a, i + 1, i, n), result.tau(i));
      }
      a(i + 1, i) = alpha;
    }
  } else {
    for (int64_t i = n - 2; i >= 0 && !problem.is_late(); --i) {
      T alpha = a(i, i + 1);
      result.tau(i) = make_reflector(alpha, a.col(i + 1).head(i));
      result.beside(i) = real_part(alpha);
      if (result.tau(i) != T(0)) {
        Vector<T> v = a.col(i + 1).head(i + 1);
        v(i) = T(1);
        update(0, i + 1, v, result.tau(i));
      }
      a(i, i + 1) = alpha;
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    result.diagonal(i) = real_part(a(i, i));
    a(i, i) = T(result.diagonal(i));
  }
  return result;
}

/// The unitary matrix of make_tridiagonal.
template <class T>
Matrix<T> tridiagonal_basis(const Matrix<T>& a, const Vector<T>& tau, bool lower,
                            const Problem& problem) {
  const int64_t n = a.rows();
  if (lower) return product_of_reflectors(a, tau, n, 1, problem);
  Matrix<T> q = Matrix<T>::Identity(n, n);
  for (int64_t i = 0; i < tau.size() && !problem.is_late(); ++i) {
    Vector<T> v = a.col(i + 1).head(i + 1);
    v(i) = T(1);
    reflect_left(tau(i), v, q.topRows(i + 1));
  }
  return q;
}

/// gehd2: Q^H A Q with zeros below the subdiagonal, of rows and columns low <= i < high; the
/// reflectors stand there.
template <class T>
Vector<T> make_hessenberg(Matrix<T>& a, int64_t low, int64_t high, const Problem& problem) {
  const int64_t n = a.rows();
  Vector<T> tau = Vector<T>::Zero(std::max<int64_t>(n - 1, 0));
  for (int64_t i = low; i + 1 < high && !problem.is_late(); ++i) {
    T alpha = a(i + 1, i);
    tau(i) = make_reflector(alpha, a.col(i).segment(i + 2, high - i - 2));
    Vector<T> v = reflector_column(a, i + 1, i, high);
    reflect_right(tau(i), v, a.block(0, i + 1, high, high - i - 1));
    reflect_left(conjugate(tau(i)), v, a.block(i + 1, i + 1, high - i - 1, n - i - 1));
    a(i + 1, i) = alpha;
  }
  return tau;
}

}  // namespace minihlo::lapack
