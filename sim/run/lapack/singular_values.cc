// gesdd and gesvd: a bidiagonal matrix, then QR steps on it (bidiagonal.h). What is much taller or
// wider than square is made square first, as in LAPACK.
#include "sim/run/lapack/bidiagonal.h"
#include "sim/run/lapack/reflectors.h"

namespace minihlo::lapack {
namespace {

// gebd2: A = Q B P^H. Reflectors of Q stand below the diagonal of B, those of P, conjugated, to the
// right of it.
template <class T>
struct Bidiagonal {
  Vector<RealOf<T>> diagonal, beside;
  Vector<T> left_tau, right_tau;
};

template <class T>
T reflect_row(Matrix<T>& a, int64_t row, int64_t column, RealOf<T>& value) {
  const int64_t n = a.cols(), m = a.rows();
  Vector<T> v = a.row(row).tail(n - column).adjoint();
  T alpha = v(0);
  const T tau = make_reflector(alpha, v.tail(n - column - 1));
  value = real_part(alpha);
  v(0) = T(1);
  reflect_right(tau, v, a.block(row + 1, column, m - row - 1, n - column));
  a.row(row).tail(n - column) = v.adjoint();
  return tau;
}

template <class T>
T reflect_column(Matrix<T>& a, int64_t row, int64_t column, RealOf<T>& value) {
  const int64_t n = a.cols(), m = a.rows();
  T alpha = a(row, column);
  const T tau = make_reflector(alpha, a.col(column).tail(m - row - 1));
  value = real_part(alpha);
  reflect_left(conjugate(tau), reflector_column(a, row, column, m),
               a.block(row, column + 1, m - row, n - column - 1));
  return tau;
}

template <class T>
Bidiagonal<T> make_bidiagonal(Matrix<T>& a, const Problem& problem) {
  const int64_t m = a.rows(), n = a.cols(), k = std::min(m, n);
  Bidiagonal<T> b{Vector<RealOf<T>>::Zero(k), Vector<RealOf<T>>::Zero(std::max<int64_t>(k - 1, 0)),
                  Vector<T>::Zero(k), Vector<T>::Zero(k)};
  for (int64_t i = 0; i < k && !problem.is_late(); ++i) {
    if (m >= n) {
      b.left_tau(i) = reflect_column(a, i, i, b.diagonal(i));
      if (i + 1 < n) b.right_tau(i) = reflect_row(a, i, i + 1, b.beside(i));
    } else {
      b.right_tau(i) = reflect_row(a, i, i, b.diagonal(i));
      if (i + 1 < m) b.left_tau(i) = reflect_column(a, i + 1, i, b.beside(i));
    }
  }
  return b;
}

// x := H_0 H_1 ... x
template <class T>
void apply_reflectors(const Matrix<T>& a, const Vector<T>& tau, int64_t shift, Matrix<T>& x) {
  for (int64_t i = std::min<int64_t>(tau.size(), a.rows() - shift) - 1; i >= 0; --i) {
    reflect_left(tau(i), reflector_column(a, i + shift, i, a.rows()),
                 x.bottomRows(a.rows() - i - shift));
  }
}

template <class T>
struct Factors {
  Matrix<T> u, vt;
  Vector<RealOf<T>> values;
  int32_t info = 0;
};

// Of what is bidiagonalized as it is. `columns` of U and `rows` of V^H are made; 0: no vectors.
template <class T>
Factors<T> decompose(Matrix<T> a, int64_t columns, int64_t rows, const Problem& problem) {
  using R = RealOf<T>;
  const int64_t m = a.rows(), n = a.cols(), k = std::min(m, n);
  const bool upper = m >= n;
  Bidiagonal<T> b = make_bidiagonal(a, problem);
  Factors<T> factors;
  factors.values = b.diagonal;
  const int64_t vectors = columns > 0 ? k : 0;
  Matrix<R> u = Matrix<R>::Identity(vectors, vectors), vt = u;
  std::vector<std::pair<R, R>> turns;  // that make a lower bidiagonal matrix an upper one
  Vector<R>& d = factors.values;
  for (int64_t i = 0; !upper && i + 1 < k; ++i) {
    const Rotation<R> rotation = make_rotation(d(i), b.beside(i));
    d(i) = rotation.r;
    b.beside(i) = rotation.s * d(i + 1);
    d(i + 1) *= rotation.c;
    turns.emplace_back(rotation.c, rotation.s);
  }
  if (k == 1 && !problem.options().plain_qr) {
    // As LAPACK has it: the sign goes to the left.
    if (vectors > 0) u(0, 0) = std::copysign(R(1), d(0));
    d(0) = std::abs(d(0));
  } else {
    factors.info = BidiagonalQr<R>(d, b.beside, u, vt, problem).run();
  }
  if (vectors == 0) return factors;
  for (int64_t i = static_cast<int64_t>(turns.size()) - 1; i >= 0; --i) {
    auto [c, s] = turns[static_cast<size_t>(i)];
    rotate(u.row(i), u.row(i + 1), c, -s);
  }
  factors.u = Matrix<T>::Identity(m, columns);
  factors.u.topLeftCorner(k, k) = u.template cast<T>();
  apply_reflectors(a, b.left_tau, upper ? 0 : 1, factors.u);
  // V = P (V_b), whose reflectors stand in the rows of A.
  Matrix<T> v = Matrix<T>::Identity(n, rows);
  v.topLeftCorner(k, k) = vt.transpose().template cast<T>();
  apply_reflectors<T>(a.adjoint(), b.right_tau, upper ? 1 : 0, v);
  factors.vt = v.adjoint();
  return factors;
}

// How much longer than wide a matrix is that is made square first: LAPACK's crossover points.
bool is_long(bool complex, int64_t m, int64_t n, const Problem& problem) {
  const double ratio = problem.options().plain_qr ? 1.6 : complex ? 17.0 / 9 : 11.0 / 6;
  return m >= static_cast<int64_t>(static_cast<double>(n) * ratio);
}

template <class T>
Factors<T> decompose_any(Matrix<T> a, int64_t columns, int64_t rows, const Problem& problem) {
  constexpr bool kComplex = Eigen::NumTraits<T>::IsComplex;
  const int64_t m = a.rows(), n = a.cols();
  if (m > n && is_long(kComplex, m, n, problem)) {
    const Vector<T> tau = factor_qr(a, problem);
    const Matrix<T> r = a.topRows(n).template triangularView<Eigen::Upper>();
    Factors<T> factors = decompose<T>(r, columns > 0 ? n : 0, rows, problem);
    if (columns == 0) return factors;
    Matrix<T> u = Matrix<T>::Identity(m, columns);
    u.topLeftCorner(n, n) = factors.u;
    apply_reflectors(a, tau, 0, u);
    factors.u = u;
    return factors;
  }
  if (n > m && is_long(kComplex, n, m, problem)) {
    Matrix<T> adjoint = a.adjoint();
    const Vector<T> tau = factor_qr(adjoint, problem);
    const Matrix<T> r = adjoint.topRows(m).template triangularView<Eigen::Upper>();
    Factors<T> factors = decompose<T>(r.adjoint(), columns, columns > 0 ? m : 0, problem);
    if (columns == 0) return factors;
    Matrix<T> v = Matrix<T>::Identity(n, rows);
    v.topLeftCorner(m, m) = factors.vt.adjoint();
    apply_reflectors(adjoint, tau, 0, v);
    factors.vt = v.adjoint();
    return factors;
  }
  return decompose(std::move(a), columns, rows, problem);
}

}  // namespace

template <class T>
void gesdd(Problem& problem) {
  using R = RealOf<T>;
  Matrix<T> a = problem.get<T>('A');
  if (!a.allFinite()) {
    problem.set_integer('I', 0, -4);
    return;
  }
  R scale = 1;
  const R largest = largest_part(a);
  const R tiny = std::sqrt(std::numeric_limits<R>::min()) / std::numeric_limits<R>::epsilon();
  if (largest > 0 && (largest < tiny || largest > 1 / tiny)) {
    scale = (largest < tiny ? tiny : 1 / tiny) / largest;
    a *= T(scale);
  }
  const bool vectors = problem.options().mode != 'N';
  Factors<T> factors = decompose_any(std::move(a), vectors ? problem.columns('U') : 0,
                                     vectors ? problem.rows('V') : 0, problem);
  problem.set_integer('I', 0, factors.info);
  problem.set('S', factors.values / scale);
  if (!vectors) return;
  problem.set('U', factors.u);
  problem.set('V', factors.vt);
}

template void gesdd<float>(Problem&);
template void gesdd<double>(Problem&);
template void gesdd<std::complex<float>>(Problem&);
template void gesdd<std::complex<double>>(Problem&);

}  // namespace minihlo::lapack
