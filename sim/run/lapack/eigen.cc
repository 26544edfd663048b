// geev and gees: balancing, Hessenberg form, Schur form (schur.h), and the eigenvectors of that.
#include "sim/run/lapack/schur.h"

namespace minihlo::lapack {
namespace {

// gebal: rows and columns that isolate an eigenvalue go to the ends, the others are scaled by
// powers of two until their norms are alike.
template <class T>
class Balance {
 public:
  using R = RealOf<T>;

  Balance(Matrix<T>& a, bool scale) : a_(a), factor_(Vector<R>::Ones(a.rows())) {
    const int64_t n = a.rows();
    partner_.resize(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) partner_[static_cast<size_t>(i)] = i;
    high_ = n;
    while (high_ > 0 && isolate_row()) {
    }
    while (low_ < high_ && isolate_column()) {
    }
    if (high_ == 0) high_ = std::min<int64_t>(n, 1);
    if (scale) balance();
  }

  int64_t low() const { return low_; }
  int64_t high() const { return high_; }

  // Of the balanced matrix's right (or left) eigenvectors those of the matrix.
  template <class V>
  void undo(V& vectors, bool right) const {
    for (int64_t i = low_; i < high_; ++i) {
      if (right) {
        vectors.row(i) *= factor_(i);
      } else {
        vectors.row(i) /= factor_(i);
      }
    }
    auto exchange = [&](int64_t i) {
      const int64_t k = partner_[static_cast<size_t>(i)];
      if (k != i) vectors.row(i).swap(vectors.row(k));
    };
    for (int64_t i = low_ - 1; i >= 0; --i) exchange(i);
    for (int64_t i = high_; i < a_.rows(); ++i) exchange(i);
  }

 private:
  void exchange(int64_t i, int64_t k) {
    partner_[static_cast<size_t>(k)] = i;
    if (i == k) return;
    a_.col(i).head(high_).swap(a_.col(k).head(high_));
    a_.row(i).tail(a_.cols() - low_).swap(a_.row(k).tail(a_.cols() - low_));
  }

  bool isolate_row() {
    for (int64_t j = high_ - 1; j >= 0; --j) {
      bool alone = true;
      for (int64_t i = 0; i < high_ && alone; ++i) alone = i == j || a_(j, i) == T(0);
      if (!alone) continue;
      exchange(j, high_ - 1);
      --high_;
      return true;
    }
    return false;
  }

  bool isolate_column() {
    for (int64_t j = low_; j < high_; ++j) {
      bool alone = true;
      for (int64_t i = low_; i < high_ && alone; ++i) alone = i == j || a_(i, j) == T(0);
      if (!alone) continue;
      exchange(j, low_);
      ++low_;
      return true;
    }
    return false;
  }

  void balance() {
    constexpr R kRadix = 2;
    const R least = std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon();
    const R tiny = least * kRadix, huge = 1 / tiny;
    for (bool again = true; again;) {
      again = false;
      for (int64_t i = low_; i < high_; ++i) {
        R c = a_.col(i).segment(low_, high_ - low_).norm();
        R r = a_.row(i).segment(low_, high_ - low_).norm();
        R ca = a_.col(i).head(high_).cwiseAbs().maxCoeff();
        R ra = a_.row(i).tail(a_.cols() - low_).cwiseAbs().maxCoeff();
        if (c == 0 || r == 0 || !std::isfinite(c + ca + r + ra)) continue;
        R g = r / kRadix, f = 1;
        const R sum = c + r;
        while (c < g && std::max({f, c, ca}) < huge && std::min({r, g, ra}) > tiny) {
          f *= kRadix;
          c *= kRadix;
          ca *= kRadix;
          r /= kRadix;
          g /= kRadix;
          ra /= kRadix;
        }
        g = c / kRadix;
        while (g >= r && std::max(r, ra) < huge && std::min({f, c, g, ca}) > tiny) {
          f /= kRadix;
          c /= kRadix;
          g /= kRadix;
          ca /= kRadix;
          r *= kRadix;
          ra *= kRadix;
        }
        if (c + r >= R(0.95) * sum) continue;
        if (f < 1 && factor_(i) < 1 && f * factor_(i) <= least) continue;
        if (f > 1 && factor_(i) > 1 && factor_(i) >= 1 / (least * f)) continue;
        factor_(i) *= f;
        again = true;
        a_.row(i).tail(a_.cols() - low_) /= f;
        a_.col(i).head(high_) *= f;
      }
    }
  }

  Matrix<T>& a_;
  Vector<R> factor_;
  std::vector<int64_t> partner_;  // by row: the one that it changed places with
  int64_t low_ = 0, high_ = 0;
};

template <class T>
struct Schur {
  Matrix<T> form, basis;
  int32_t info = 0;
};

template <class T>
Schur<T> make_schur(Matrix<T> a, int64_t low, int64_t high, const Problem& problem) {
  Schur<T> schur;
  const Vector<T> tau = make_hessenberg(a, low, high, problem);
  Matrix<T> reflectors = Matrix<T>::Zero(a.rows(), a.cols());
  for (int64_t j = low; j < high; ++j) {
    for (int64_t i = j + 2; i < high; ++i) std::swap(reflectors(i, j), a(i, j));
  }
  schur.basis = product_of_reflectors(reflectors, tau, a.cols(), 1, problem);
  schur.form = std::move(a);
  schur.info = SchurSteps<T>(schur.form, schur.basis, low, high, problem).run();
  return schur;
}

// Eigenvalue of a quasi-triangular matrix at i; of a pair the one above the axis comes first.
template <class T>
std::complex<double> eigenvalue(const Matrix<T>& t, int64_t i) {
  if constexpr (Eigen::NumTraits<T>::IsComplex) {
    return t(i, i);
  } else {
    auto imaginary = [&](int64_t k) {
      return std::sqrt(std::abs(double(t(k, k + 1)))) * std::sqrt(std::abs(double(t(k + 1, k))));
    };
    if (i + 1 < t.rows() && t(i + 1, i) != 0) return {t(i, i), imaginary(i)};
    if (i > 0 && t(i, i - 1) != 0) return {t(i, i), -imaginary(i - 1)};
    return t(i, i);
  }
}

// The eigenvectors of a (quasi-)triangular matrix that start as LAPACK's do (trevc): 1 in the last
// (left: first) place. Of a pair only the first is made.
template <class T>
class TriangularVectors {
 public:
  using Complex = std::complex<double>;

  TriangularVectors(const Matrix<T>& t, bool right) : right_(right) {
    Matrix<Complex> wide = t.template cast<Complex>();
    // Left ones solve the transposed system, from the other end on.
    t_ = right ? wide : Matrix<Complex>(wide.adjoint().colwise().reverse().rowwise().reverse());
  }

  Vector<Complex> of(int64_t column, Complex value) const {
    const int64_t n = t_.rows();
    const bool pair = column + 1 < n && value.imag() != 0 && is_pair(column);
    // Of a pair its rows are last and last - 1, counted from the end that is solved from.
    int64_t last = right_ ? column + (pair ? 1 : 0) : n - 1 - column;
    const Complex w = right_ ? value : std::conj(value);
    Vector<Complex> x = Vector<Complex>::Zero(n);
    if (pair) {
      const int64_t a = last - 1;
      const double up = t_(a, last).real(), down = t_(last, a).real();
      start_pair(x, a, last, up, down, value.imag());
    } else {
      x(last) = 1;
    }
    const double size = std::abs(value.real()) + std::abs(value.imag());
    using R = RealOf<T>;
    const double epsilon = std::numeric_limits<R>::epsilon();
    const double least = std::max(
        epsilon * size, std::numeric_limits<R>::min() * (static_cast<double>(n) / epsilon));
    for (int64_t i = last - (pair ? 2 : 1); i >= 0; --i) {
      auto rest = [&](int64_t row, int64_t from) {
        return -(t_.row(row).segment(from, last - from + 1) * x.segment(from, last - from + 1))
                    .value();
      };
      if (i > 0 && t_(i, i - 1) != Complex(0)) {
        const Complex r0 = rest(i - 1, i + 1), r1 = rest(i, i + 1);
        const Complex a = t_(i - 1, i - 1) - w, b = t_(i - 1, i), c = t_(i, i - 1),
                      d = t_(i, i) - w;
        Complex det = a * d - b * c;
        if (std::abs(det) < least * least) det = least * least;
        x(i - 1) = (d * r0 - b * r1) / det;
        x(i) = (a * r1 - c * r0) / det;
        --i;
      } else {
        Complex pivot = t_(i, i) - w;
        if (std::abs(pivot.real()) + std::abs(pivot.imag()) < least) pivot = least;
        x(i) = rest(i, i + 1) / pivot;
      }
      const double most = largest_part<Complex>(x);
      if (most > 1e100) x *= 1 / most;  // dividing complex numbers would overflow
    }
    if (right_) return x;
    return x.reverse();
  }

 private:
  bool is_pair(int64_t column) const {
    const int64_t n = t_.rows();
    if constexpr (Eigen::NumTraits<T>::IsComplex) return false;
    return right_ ? t_(column + 1, column) != Complex(0)
                  : t_(n - 1 - column, n - 2 - column) != Complex(0);
  }

  // Which part is real and which imaginary decides the phase.
  void start_pair(Vector<Complex>& x, int64_t a, int64_t b, double up, double down,
                  double imaginary) const {
    if (right_) {
      if (std::abs(up) >= std::abs(down)) {
        x(a) = 1;
        x(b) = Complex(0, imaginary / up);
      } else {
        x(a) = -imaginary / down;
        x(b) = Complex(0, 1);
      }
    } else {
      // Turned about: b is the first of the pair.
      if (std::abs(up) >= std::abs(down)) {
        x(b) = imaginary / up;
        x(a) = Complex(0, 1);
      } else {
        x(b) = 1;
        x(a) = Complex(0, -imaginary / down);
      }
    }
  }

  Matrix<Complex> t_;
  const bool right_;
};

// All right or left eigenvectors of the matrix, of length 1, the largest component real.
template <class T>
Matrix<std::complex<double>> eigenvectors(const Schur<T>& schur, const Balance<T>& balance,
                                          bool right) {
  using Complex = std::complex<double>;
  const int64_t n = schur.form.rows();
  const TriangularVectors<T> triangular(schur.form, right);
  const Matrix<Complex> basis = schur.basis.template cast<Complex>();
  Matrix<Complex> vectors(n, n);
  for (int64_t i = 0; i < n; ++i) {
    const Complex value = eigenvalue(schur.form, i);
    if (!Eigen::NumTraits<T>::IsComplex && value.imag() < 0 && i > 0) {
      vectors.col(i) = vectors.col(i - 1).conjugate();
      continue;
    }
    vectors.col(i) = basis * triangular.of(i, value);
    Matrix<Complex> column = vectors.col(i);
    balance.undo(column, right);
    column /= column.norm();
    if (Eigen::NumTraits<T>::IsComplex || value.imag() != 0) {
      int64_t largest = 0;
      for (int64_t k = 1; k < n; ++k) {
        if (std::norm(column(k)) > std::norm(column(largest))) largest = k;
      }
      // Real ones keep the sign of the real part, complex ones get a positive number.
      const Complex at = column(largest);
      double length = std::abs(at);
      if (!Eigen::NumTraits<T>::IsComplex && std::signbit(at.real())) length = -length;
      if (length != 0) column *= std::conj(at) / length;
      column(largest) = column(largest).real();
    }
    vectors.col(i) = column;
  }
  return vectors;
}

template <class T>
void set_eigenvalues(Problem& problem, const Matrix<T>& form) {
  const int64_t n = form.rows();
  Vector<std::complex<double>> values(n);
  for (int64_t i = 0; i < n; ++i) values(i) = eigenvalue(form, i);
  if constexpr (Eigen::NumTraits<T>::IsComplex) {
    problem.set('W', values);
  } else {
    problem.set('W', values.real());
    problem.set('V', values.imag());
  }
}

}  // namespace

template <class T>
void geev(Problem& problem) {
  Matrix<T> a = problem.get<T>('A');
  if (!a.allFinite()) {
    problem.set_integer('I', 0, -4);
    return;
  }
  const Balance<T> balance(a, true);
  const Schur<T> schur = make_schur(a, balance.low(), balance.high(), problem);
  problem.set_integer('I', 0, schur.info);
  set_eigenvalues(problem, schur.form);
  if (schur.info != 0) return;
  if (problem.options().left == 'V') problem.set('L', eigenvectors(schur, balance, false));
  if (problem.options().right == 'V') problem.set('R', eigenvectors(schur, balance, true));
}

template <class T>
void gees(Problem& problem) {
  Matrix<T> a = problem.get<T>('A');
  if (!a.allFinite()) {
    problem.set_integer('I', 0, static_cast<int32_t>(a.rows()));
    return;
  }
  const Balance<T> balance(a, false);
  Schur<T> schur = make_schur(a, balance.low(), balance.high(), problem);
  problem.set_integer('I', 0, schur.info);
  set_eigenvalues(problem, schur.form);
  balance.undo(schur.basis, true);
  problem.set('A', schur.form);
  if (problem.options().mode == 'V') problem.set('Q', schur.basis);
}

#define INSTANTIATE(T)             \
  template void geev<T>(Problem&); \
  template void gees<T>(Problem&);
INSTANTIATE(float)
INSTANTIATE(double)
INSTANTIATE(std::complex<float>)
INSTANTIATE(std::complex<double>)
#undef INSTANTIATE

}  // namespace minihlo::lapack
