// Schur forms of Hessenberg matrices by QR steps (lahqr), eigenvalues in the order in which LAPACK
// finds them.
#pragma once

#include <limits>

#include "sim/run/lapack/reflectors.h"
#include "sim/run/lapack/rotations.h"

namespace minihlo::lapack {

/// lanv2: makes (a b; c d) upper triangular, or a = d and b c < 0, by the rotation (cs, sn).
template <class R>
struct StandardPair {
  R a, b, c, d, cs, sn;
};

template <class R>
StandardPair<R> standardize(R a, R b, R c, R d) {
  auto sign = [](R x) { return std::copysign(R(1), x); };
  if (c == 0) return {a, b, c, d, R(1), R(0)};
  if (b == 0) return {d, -c, R(0), a, R(0), R(1)};
  if (a - d == 0 && sign(b) != sign(c)) return {a, b, c, d, R(1), R(0)};
  constexpr R kEpsilon = std::numeric_limits<R>::epsilon();
  R difference = a - d, p = R(0.5) * difference;
  const R most = std::max(std::abs(b), std::abs(c));
  const R least = std::min(std::abs(b), std::abs(c)) * sign(b) * sign(c);
  const R scale = std::max(std::abs(p), most);
  R z = (p / scale) * p + (most / scale) * least;
  if (z >= 4 * kEpsilon) {
    z = p + std::copysign(std::sqrt(scale) * std::sqrt(z), p);
    const R tau = std::hypot(c, z);
    return {d + z, b - c, R(0), d - (most / z) * least, z / tau, c / tau};
  }
  const R sigma = b + c;
  const R tau = std::hypot(sigma, difference);
  R cs = std::sqrt(R(0.5) * (1 + std::abs(sigma) / tau));
  R sn = -(p / (tau * cs)) * sign(sigma);
  const R aa = a * cs + b * sn, bb = -a * sn + b * cs, cc = c * cs + d * sn, dd = -c * sn + d * cs;
  a = aa * cs + cc * sn;
  b = bb * cs + dd * sn;
  c = -aa * sn + cc * cs;
  d = -bb * sn + dd * cs;
  const R middle = R(0.5) * (a + d);
  a = d = middle;
  if (c != 0 && b == 0) return {a, -c, R(0), d, -sn, cs};
  if (c != 0 && sign(b) == sign(c)) {
    // Real eigenvalues after all.
    const R sab = std::sqrt(std::abs(b)), sac = std::sqrt(std::abs(c));
    p = std::copysign(sab * sac, c);
    const R size = 1 / std::sqrt(std::abs(b + c));
    const R cs1 = sab * size, sn1 = sac * size;
    return {middle + p, b - c, R(0), middle - p, cs * cs1 - sn * sn1, cs * sn1 + sn * cs1};
  }
  return {a, b, c, d, cs, sn};
}

/// Reduces rows and columns low <= i < high of `h`, whose rest is upper triangular, to Schur form,
/// and multiplies `z` from the right by the same rotations.
template <class T>
class SchurSteps {
 public:
  using R = RealOf<T>;

  SchurSteps(Matrix<T>& h, Matrix<T>& z, int64_t low, int64_t high, const Problem& problem)
      : h_(h), z_(z), low_(low), high_(high), problem_(problem) {}

  /// 0, or how many eigenvalues were not found.
  int32_t run() {
    constexpr bool kComplex = Eigen::NumTraits<T>::IsComplex;
    for (int64_t j = low_; j < high_; ++j) {
      for (int64_t i = j + 2; i < high_; ++i) h_(i, j) = T(0);
    }
    if constexpr (kComplex) make_subdiagonal_real();
    const int64_t size = high_ - low_;
    small_ = std::numeric_limits<R>::min() * (static_cast<R>(size) / kUlp);
    const int64_t most = 30 * std::max<int64_t>(10, size);
    int64_t last = high_ - 1;
    while (last >= low_) {
      int64_t first = low_;
      int64_t tries = 0, stuck = 0;
      for (;; ++tries) {
        if (tries > most || problem_.is_late()) return static_cast<int32_t>(last + 1);
        first = find_first(first, last);
        if (first > low_) h_(first, first - 1) = T(0);
        if (first >= last - (kComplex ? 0 : 1)) break;
        ++stuck;
        if constexpr (kComplex) {
          step_complex(first, last, stuck);
        } else {
          step_real(first, last, stuck);
        }
      }
      if constexpr (!kComplex) {
        if (first == last - 1) settle_pair(last);
      }
      last = first - 1;
    }
    return 0;
  }

 private:
  static constexpr R kUlp = std::numeric_limits<R>::epsilon();
  static constexpr int64_t kPatience = 10;  // steps before an exceptional shift

  static R size(const T& x) { return std::abs(real_part(x)) + std::abs(imag_part(x)); }

  // Where the unreduced block that ends at `last` starts.
  int64_t find_first(int64_t first, int64_t last) const {
    for (int64_t k = last; k > first; --k) {
      const R below = size(h_(k, k - 1));
      if (below <= small_) return k;
      R test = size(h_(k - 1, k - 1)) + size(h_(k, k));
      if (test == 0) {
        if (k - 2 >= low_) test += std::abs(real_part(h_(k - 1, k - 2)));
        if (k + 1 < high_) test += std::abs(real_part(h_(k + 1, k)));
      }
      if (std::abs(real_part(h_(k, k - 1))) > kUlp * test) continue;
      const R above = size(h_(k - 1, k)), gap = size(h_(k - 1, k - 1) - h_(k, k)),
              corner = size(h_(k, k));
      const R ab = std::max(below, above), ba = std::min(below, above);
      const R aa = std::max(corner, gap), bb = std::min(corner, gap), sum = aa + ab;
      if (ba * (ab / sum) <= std::max(small_, kUlp * (bb * (aa / sum)))) return k;
    }
    return first;
  }

  // Francis's double step on rows first..last.
  void step_real(int64_t l, int64_t i, int64_t stuck) {
    R h11, h12, h21, h22;
    if (stuck % kPatience == 0) {
      const bool at_end = stuck % (2 * kPatience) == 0;
      const R s = at_end ? std::abs(h_(i, i - 1)) + std::abs(h_(i - 1, i - 2))
                         : std::abs(h_(l + 1, l)) + std::abs(h_(l + 2, l + 1));
      h11 = h22 = R(0.75) * s + (at_end ? h_(i, i) : h_(l, l));
      h12 = R(-0.4375) * s;
      h21 = s;
    } else {
      h11 = h_(i - 1, i - 1);
      h21 = h_(i, i - 1);
      h12 = h_(i - 1, i);
      h22 = h_(i, i);
    }
    R rt1r = 0, rt1i = 0, rt2r = 0, rt2i = 0;
    if (const R s = std::abs(h11) + std::abs(h12) + std::abs(h21) + std::abs(h22); s != 0) {
      h11 /= s;
      h21 /= s;
      h12 /= s;
      h22 /= s;
      const R trace = (h11 + h22) / 2;
      const R det = (h11 - trace) * (h22 - trace) - h12 * h21;
      const R root = std::sqrt(std::abs(det));
      if (det >= 0) {
        rt1r = rt2r = trace * s;
        rt1i = root * s;
        rt2i = -rt1i;
      } else {
        rt1r = trace + root;
        rt2r = trace - root;
        rt1r = rt2r = (std::abs(rt1r - h22) <= std::abs(rt2r - h22) ? rt1r : rt2r) * s;
      }
    }
    Vector<R> v(3);
    int64_t m = i - 2;
    for (;; --m) {
      R below = std::abs(h_(m + 1, m));
      R s = std::abs(h_(m, m) - rt2r) + std::abs(rt2i) + below;
      below = h_(m + 1, m) / s;
      v(0) = below * h_(m, m + 1) + (h_(m, m) - rt1r) * ((h_(m, m) - rt2r) / s) - rt1i * (rt2i / s);
      v(1) = below * (h_(m, m) + h_(m + 1, m + 1) - rt1r - rt2r);
      v(2) = below * h_(m + 2, m + 1);
      v /= std::abs(v(0)) + std::abs(v(1)) + std::abs(v(2));
      if (m == l) break;
      if (std::abs(h_(m, m - 1)) * (std::abs(v(1)) + std::abs(v(2))) <=
          kUlp * std::abs(v(0)) *
              (std::abs(h_(m - 1, m - 1)) + std::abs(h_(m, m)) + std::abs(h_(m + 1, m + 1)))) {
        break;
      }
    }
    const int64_t n = h_.rows();
    for (int64_t k = m; k < i; ++k) {
      const int64_t count = std::min<int64_t>(3, i - k + 1);
      if (k > m) v.head(count) = h_.col(k - 1).segment(k, count);
      R alpha = v(0);
      const R tau = make_reflector(alpha, v.segment(1, count - 1));
      if (k > m) {
        h_(k, k - 1) = alpha;
        h_.col(k - 1).segment(k + 1, count - 1).setZero();
      } else if (m > l) {
        h_(k, k - 1) *= 1 - tau;
      }
      Vector<R> u = v.head(count);
      u(0) = 1;
      reflect_left(tau, u, h_.block(k, k, count, n - k));
      reflect_right(tau, u, h_.block(0, k, std::min(k + 3, i) + 1, count));
      reflect_right(tau, u, z_.middleCols(k, count));
    }
  }

  void settle_pair(int64_t i) {
    const StandardPair<R> pair =
        standardize(h_(i - 1, i - 1), h_(i - 1, i), h_(i, i - 1), h_(i, i));
    h_(i - 1, i - 1) = pair.a;
    h_(i - 1, i) = pair.b;
    h_(i, i - 1) = pair.c;
    h_(i, i) = pair.d;
    const int64_t right = h_.cols() - i - 1;
    rotate(h_.row(i - 1).tail(right), h_.row(i).tail(right), pair.cs, pair.sn);
    rotate(h_.col(i - 1).head(i - 1), h_.col(i).head(i - 1), pair.cs, pair.sn);
    rotate(z_.col(i - 1), z_.col(i), pair.cs, pair.sn);
  }

  // Multiplies row i right of the diagonal by `factor`, the column above it and that of z by its
  // conjugate.
  void turn(int64_t i, int64_t from_column, int64_t to_row, const T& factor) {
    h_.row(i).tail(h_.cols() - from_column) *= factor;
    h_.col(i).head(to_row) *= conjugate(factor);
    z_.col(i) *= conjugate(factor);
  }

  void make_subdiagonal_real() {
    for (int64_t i = low_ + 1; i < high_; ++i) {
      if (imag_part(h_(i, i - 1)) == 0) continue;
      T factor = h_(i, i - 1) / size(h_(i, i - 1));
      factor = conjugate(factor) / std::abs(factor);
      h_(i, i - 1) = T(std::abs(h_(i, i - 1)));
      turn(i, i, std::min(h_.rows(), i + 2), factor);
    }
  }

  // A single step on rows first..last.
  void step_complex(int64_t l, int64_t i, int64_t stuck) {
    T t;
    if (stuck % (2 * kPatience) == 0) {
      t = R(0.75) * std::abs(real_part(h_(i, i - 1))) + h_(i, i);
    } else if (stuck % kPatience == 0) {
      t = R(0.75) * std::abs(real_part(h_(l + 1, l))) + h_(l, l);
    } else {
      t = h_(i, i);
      const T u = std::sqrt(h_(i - 1, i)) * std::sqrt(h_(i, i - 1));
      R s = size(u);
      if (s != 0) {
        const T x = R(0.5) * (h_(i - 1, i - 1) - t);
        const R sx = size(x);
        s = std::max(s, sx);
        T y = s * std::sqrt((x / s) * (x / s) + (u / s) * (u / s));
        if (sx > 0 && real_part(x / sx) * real_part(y) + imag_part(x / sx) * imag_part(y) < 0) {
          y = -y;
        }
        t -= u * (u / (x + y));
      }
    }
    Vector<T> v(2);
    int64_t m = i - 1;
    for (;; --m) {
      T first = h_(m, m) - t;
      R second = real_part(h_(m + 1, m));
      const R s = size(first) + std::abs(second);
      first /= s;
      second /= s;
      v(0) = first;
      v(1) = T(second);
      if (m == l) break;
      if (std::abs(real_part(h_(m, m - 1))) * std::abs(second) <=
          kUlp * (size(first) * (size(h_(m, m)) + size(h_(m + 1, m + 1))))) {
        break;
      }
    }
    const int64_t n = h_.rows();
    for (int64_t k = m; k < i; ++k) {
      if (k > m) v = h_.col(k - 1).segment(k, 2);
      T alpha = v(0);
      const T tau = make_reflector(alpha, v.tail(1));
      if (k > m) {
        h_(k, k - 1) = alpha;
        h_(k + 1, k - 1) = T(0);
      }
      Vector<T> u = v;
      u(0) = T(1);
      reflect_left(conjugate(tau), u, h_.block(k, k, 2, n - k));
      reflect_right(tau, u, h_.block(0, k, std::min(k + 2, i) + 1, 2));
      reflect_right(tau, u, z_.middleCols(k, 2));
      if (k == m && m > l) {
        // The subdiagonal stays real.
        T factor = T(1) - tau;
        factor /= std::abs(factor);
        h_(m + 1, m) *= conjugate(factor);
        if (m + 2 <= i) h_(m + 2, m + 1) *= factor;
        for (int64_t j = m; j <= i; ++j) {
          if (j != m + 1) turn(j, j + 1, j, factor);
        }
      }
    }
    T& below = h_(i, i - 1);
    if (imag_part(below) == 0) return;
    const R length = std::abs(below);
    const T factor = below / length;
    below = T(length);
    turn(i, i + 1, i, conjugate(factor));
  }

  Matrix<T>& h_;
  Matrix<T>& z_;
  const int64_t low_, high_;
  const Problem& problem_;
  R small_ = 0;
};

}  // namespace minihlo::lapack
