// Singular values of bidiagonal matrices, with the rotations that LAPACK would make (bdsqr), so
// that signs of vectors are its own.
#pragma once

#include <limits>
#include <vector>

#include "sim/run/lapack/rotations.h"

namespace minihlo::lapack {

/// lasv2: of (f g; 0 h) the singular values (second is the smaller one) and rotations: right (csr,
/// snr), left (csl, snl). The values have signs.
template <class R>
struct BidiagonalPair {
  R smaller, larger, snr, csr, snl, csl;
};

template <class R>
BidiagonalPair<R> solve_bidiagonal_pair(R f, R g, R h) {
  auto sign = [](R x) { return std::copysign(R(1), x); };
  R ft = f, fa = std::abs(f), ht = h, ha = std::abs(h);
  const R gt = g, ga = std::abs(g);
  enum class Largest { kF, kG, kH } largest = Largest::kF;
  const bool exchanged = ha > fa;
  if (exchanged) {
    largest = Largest::kH;
    std::swap(ft, ht);
    std::swap(fa, ha);
  }
  R smaller = ha, larger = fa, clt = 1, crt = 1, slt = 0, srt = 0;
  if (ga != 0) {
    bool is_moderate = true;
    if (ga > fa) {
      largest = Largest::kG;
      if (fa / ga < std::numeric_limits<R>::epsilon() / 2) {
        is_moderate = false;
        larger = ga;
        smaller = ha > 1 ? fa / (ga / ha) : (fa / ga) * ha;
        clt = 1;
        slt = ht / gt;
        srt = 1;
        crt = ft / gt;
      }
    }
    if (is_moderate) {
      const R d = fa - ha;
      R l = d == fa ? R(1) : d / fa;
      const R m = gt / ft;
      R t = 2 - l;
      const R mm = m * m, s = std::sqrt(t * t + mm);
      const R r = l == 0 ? std::abs(m) : std::sqrt(l * l + mm);
      const R a = R(0.5) * (s + r);
      smaller = ha / a;
      larger = fa * a;
      if (mm == 0) {
        t = l == 0 ? std::copysign(R(2), ft) * sign(gt) : gt / std::copysign(d, ft) + m / t;
      } else {
        t = (m / (s + t) + m / (r + l)) * (1 + a);
      }
      l = std::sqrt(t * t + 4);
      crt = 2 / l;
      srt = t / l;
      clt = (crt + srt * m) / a;
      slt = (ht / ft) * srt / a;
    }
  }
  BidiagonalPair<R> pair = exchanged ? BidiagonalPair<R>{smaller, larger, clt, slt, crt, srt}
                                     : BidiagonalPair<R>{smaller, larger, srt, crt, slt, clt};
  const R way = largest == Largest::kF   ? sign(pair.csr) * sign(pair.csl) * sign(f)
                : largest == Largest::kG ? sign(pair.snr) * sign(pair.csl) * sign(g)
                                         : sign(pair.snr) * sign(pair.snl) * sign(h);
  pair.larger = std::copysign(larger, way);
  pair.smaller = std::copysign(smaller, way * sign(f) * sign(h));
  return pair;
}

/// las2: the smaller singular value of (f g; 0 h).
template <class R>
R smaller_singular_value(R f, R g, R h) {
  const R fa = std::abs(f), ga = std::abs(g), ha = std::abs(h);
  const R low = std::min(fa, ha), high = std::max(fa, ha);
  if (low == 0) return 0;
  const R as = 1 + low / high, at = (high - low) / high;
  if (ga < high) {
    const R au = (ga / high) * (ga / high);
    return low * (2 / (std::sqrt(as * as + au) + std::sqrt(at * at + au)));
  }
  const R au = high / ga;
  if (au == 0) return (low * high) / ga;
  const R c = 1 / (std::sqrt(1 + (as * au) * (as * au)) + std::sqrt(1 + (at * au) * (at * au)));
  return 2 * ((low * c) * au);
}

template <class R>
class BidiagonalQr {
 public:
  /// Upper bidiagonal: `d` on the diagonal, `e` above it. `u` and `vt` are turned along; empty ones
  /// are left alone.
  BidiagonalQr(Vector<R>& d, Vector<R>& e, Matrix<R>& u, Matrix<R>& vt, const Problem& problem)
      : d_(d), e_(e), u_(u), vt_(vt), problem_(problem) {}

  /// The number of elements above the diagonal that did not become zero.
  int32_t run() {
    const int64_t n = d_.size();
    tolerance_ = std::max(R(10), std::min(R(100), std::pow(kEpsilon, R(-0.125)))) * kEpsilon;
    constexpr int64_t kSweeps = 6;
    R least = n == 0 ? R(0) : std::abs(d_(0));
    R mu = least;
    for (int64_t i = 1; i < n && least != 0; ++i) {
      mu = std::abs(d_(i)) * (mu / (mu + std::abs(e_(i - 1))));
      least = std::min(least, mu);
    }
    const R size = static_cast<R>(n);
    threshold_ = std::max(tolerance_ * (least / std::sqrt(size)),
                          R(kSweeps) * (size * (size * std::numeric_limits<R>::min())));
    double work = 0;  // rotations, of which there may be so many
    const double most = static_cast<double>(kSweeps) * static_cast<double>(n) *
                        static_cast<double>(n) * static_cast<double>(n);
    int64_t last = n - 1;
    while (last > 0 && work <= most && !problem_.is_late()) {
      if (!find_block(last)) continue;
      if (first_ == last - 1) {
        solve_pair(last);
        last -= 2;
        continue;
      }
      if (first_ > old_last_ || last < old_first_) {
        down_ = std::abs(d_(first_)) >= std::abs(d_(last));
      }
      if (converges(last)) continue;
      old_first_ = first_;
      old_last_ = last;
      work += static_cast<double>(last - first_);
      sweep(last, shift(last));
    }
    int32_t left = 0;
    for (int64_t i = 0; i + 1 < n; ++i) left += e_(i) != 0;
    if (left == 0) finish();
    return left;
  }

 private:
  static constexpr R kEpsilon = std::numeric_limits<R>::epsilon() / 2;

  // The block that ends at `last`: no element beside its diagonal is negligible. False: its last
  // element is, and the block ends earlier.
  bool find_block(int64_t& last) {
    largest_ = std::abs(d_(last));
    first_ = 0;
    for (int64_t i = last - 1; i >= 0; --i) {
      if (std::abs(e_(i)) <= threshold_) {
        e_(i) = 0;
        if (i == last - 1) {
          --last;
          return false;
        }
        first_ = i + 1;
        break;
      }
      largest_ = std::max({largest_, std::abs(d_(i)), std::abs(e_(i))});
    }
    return true;
  }

  void turn_rows(int64_t i, R c, R s) {
    if (vt_.size() > 0) rotate(vt_.row(i), vt_.row(i + 1), c, s);
  }
  void turn_columns(int64_t i, R c, R s) {
    if (u_.size() > 0) rotate(u_.col(i), u_.col(i + 1), c, s);
  }

  void solve_pair(int64_t last) {
    const BidiagonalPair<R> pair = solve_bidiagonal_pair(d_(last - 1), e_(last - 1), d_(last));
    d_(last - 1) = pair.larger;
    e_(last - 1) = 0;
    d_(last) = pair.smaller;
    turn_rows(last - 1, pair.csr, pair.snr);
    turn_columns(last - 1, pair.csl, pair.snl);
  }

  // Whether an element of the block counts as zero, which it then is.
  bool converges(int64_t last) {
    auto is_small = [&](int64_t i, R size) {
      if (std::abs(e_(i)) > tolerance_ * size) return false;
      e_(i) = 0;
      return true;
    };
    if (down_ ? is_small(last - 1, std::abs(d_(last))) : is_small(first_, std::abs(d_(first_)))) {
      return true;
    }
    R mu = std::abs(d_(down_ ? first_ : last));
    least_ = mu;
    for (int64_t k = 0; k < last - first_; ++k) {
      const int64_t i = down_ ? first_ + k : last - 1 - k;
      if (is_small(i, mu)) return true;
      mu = std::abs(d_(down_ ? i + 1 : i)) * (mu / (mu + std::abs(e_(i))));
      least_ = std::min(least_, mu);
    }
    return false;
  }

  R shift(int64_t last) const {
    const R size = static_cast<R>(d_.size());
    if (size * tolerance_ * (least_ / largest_) <= std::max(kEpsilon, R(0.01) * tolerance_)) {
      return 0;
    }
    const int64_t at = down_ ? last - 1 : first_;
    const R shift = smaller_singular_value(d_(at), e_(at), d_(at + 1));
    const R start = std::abs(d_(down_ ? first_ : last));
    if (start > 0 && (shift / start) * (shift / start) < kEpsilon) return 0;
    return shift;
  }

  void sweep(int64_t last, R shift) {
    // Up, everything is mirrored: e is between i - 1 and i, and left and right change places.
    const int64_t from = down_ ? first_ : last, to = down_ ? last : first_, step = down_ ? 1 : -1;
    auto beside = [&](int64_t i) -> R& { return e_(down_ ? i : i - 1); };
    auto turn = [&](int64_t i, R c, R s, R other_c, R other_s) {
      if (down_) {
        turn_rows(i, c, s);
        turn_columns(i, other_c, other_s);
      } else {
        turn_rows(i - 1, other_c, -other_s);
        turn_columns(i - 1, c, -s);
      }
    };
    if (shift == 0) {
      R cs = 1, sn = 0, old_cs = 1, old_sn = 0;
      for (int64_t i = from; i != to; i += step) {
        const Rotation<R> one = make_rotation(d_(i) * cs, beside(i));
        cs = one.c;
        sn = one.s;
        if (i != from) beside(i - step) = old_sn * one.r;
        const Rotation<R> other = make_rotation(old_cs * one.r, d_(i + step) * sn);
        old_cs = other.c;
        old_sn = other.s;
        d_(i) = other.r;
        turn(i, cs, sn, old_cs, old_sn);
      }
      const R h = d_(to) * cs;
      d_(to) = h * old_cs;
      beside(to - step) = h * old_sn;
    } else {
      R f = (std::abs(d_(from)) - shift) * (std::copysign(R(1), d_(from)) + shift / d_(from));
      R g = beside(from);
      for (int64_t i = from; i != to; i += step) {
        const Rotation<R> one = make_rotation(f, g);
        if (i != from) beside(i - step) = one.r;
        f = one.c * d_(i) + one.s * beside(i);
        beside(i) = one.c * beside(i) - one.s * d_(i);
        g = one.s * d_(i + step);
        d_(i + step) = one.c * d_(i + step);
        const Rotation<R> other = make_rotation(f, g);
        d_(i) = other.r;
        f = other.c * beside(i) + other.s * d_(i + step);
        d_(i + step) = other.c * d_(i + step) - other.s * beside(i);
        if (i + step != to) {
          g = other.s * beside(i + step);
          beside(i + step) = other.c * beside(i + step);
        }
        turn(i, one.c, one.s, other.c, other.s);
      }
      beside(to - step) = f;
    }
    if (std::abs(beside(to - step)) <= threshold_) beside(to - step) = 0;
  }

  // Values without signs, the largest first.
  void finish() {
    const int64_t n = d_.size();
    for (int64_t i = 0; i < n; ++i) {
      if (!std::signbit(d_(i))) continue;
      d_(i) = -d_(i);
      if (vt_.size() > 0) vt_.row(i) = -vt_.row(i);
    }
    for (int64_t end = n - 1; end > 0; --end) {
      int64_t least = 0;
      for (int64_t j = 1; j <= end; ++j) {
        if (d_(j) <= d_(least)) least = j;
      }
      if (least == end) continue;
      std::swap(d_(least), d_(end));
      if (vt_.size() > 0) vt_.row(least).swap(vt_.row(end));
      if (u_.size() > 0) u_.col(least).swap(u_.col(end));
    }
  }

  Vector<R>& d_;
  Vector<R>& e_;
  Matrix<R>& u_;
  Matrix<R>& vt_;
  const Problem& problem_;
  R tolerance_ = 0, threshold_ = 0, largest_ = 0, least_ = 0;
  int64_t first_ = 0, old_first_ = -1, old_last_ = -1;
  bool down_ = true;
};

}  // namespace minihlo::lapack
