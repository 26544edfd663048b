// syevd and heevd: a tridiagonal matrix, then QL or QR steps with implicit shifts (steqr). Signs of
// vectors come out as LAPACK's where it does the same: up to order 25.
#include <limits>

#include "sim/run/lapack/reflectors.h"
#include "sim/run/lapack/rotations.h"

namespace minihlo::lapack {
namespace {

constexpr int64_t kSweeps = 30;  // an eigenvalue

// laev2: of (a b; b c) the eigenvalue of larger size, the other, and the vector (cs, sn) of the
// first.
template <class R>
struct SymmetricPair {
  R first, second, cs, sn;
};

template <class R>
SymmetricPair<R> solve_pair(R a, R b, R c) {
  const R sum = a + c, difference = a - c, twice = b + b;
  const R larger = std::abs(a) > std::abs(c) ? a : c, smaller = std::abs(a) > std::abs(c) ? c : a;
  const R root = std::hypot(difference, twice);
  SymmetricPair<R> pair{};
  const bool negative = sum < 0;
  pair.first = R(0.5) * (negative ? sum - root : sum + root);
  pair.second = sum == 0 ? R(-0.5) * root : (larger / pair.first) * smaller - (b / pair.first) * b;
  const bool forward = difference >= 0;
  const R cs = forward ? difference + root : difference - root;
  if (std::abs(cs) > std::abs(twice)) {
    const R cotangent = -twice / cs;
    pair.sn = 1 / std::sqrt(1 + cotangent * cotangent);
    pair.cs = cotangent * pair.sn;
  } else if (twice == 0) {
    pair.cs = 1;
    pair.sn = 0;
  } else {
    const R tangent = -cs / twice;
    pair.cs = 1 / std::sqrt(1 + tangent * tangent);
    pair.sn = tangent * pair.cs;
  }
  if (negative != forward) {
    const R old = pair.cs;
    pair.cs = -pair.sn;
    pair.sn = old;
  }
  return pair;
}

template <class T>
class TridiagonalQr {
 public:
  using R = RealOf<T>;

  // `z` has the basis to be rotated along; no columns: values only.
  TridiagonalQr(Vector<R>& d, Vector<R>& e, Matrix<T>& z, const Problem& problem)
      : d_(d), e_(e), z_(z), problem_(problem), sweeps_left_(kSweeps * d.size()) {}

  // The number of off-diagonals that did not become zero.
  int32_t run() {
    const int64_t n = d_.size();
    for (int64_t first = 0; first < n && sweeps_left_ > 0;) {
      if (first > 0) e_(first - 1) = 0;
      int64_t last = first;
      for (; last + 1 < n; ++last) {
        const R size = std::abs(e_(last));
        if (size == 0) break;
        if (size <= std::sqrt(std::abs(d_(last))) * std::sqrt(std::abs(d_(last + 1))) * kEpsilon) {
          e_(last) = 0;
          break;
        }
      }
      solve_block(first, last);
      // What is left of a block whose sweeps ran out is looked at again.
      first = last + 1;
    }
    int32_t left = 0;
    for (int64_t i = 0; i + 1 < n; ++i) left += e_(i) != 0;
    if (left == 0) sort();
    return left;
  }

 private:
  static constexpr R kEpsilon = std::numeric_limits<R>::epsilon() / 2;

  // An unreduced block first..last. Works towards the end that is smaller.
  void solve_block(int64_t first, int64_t last) {
    const R scale = block_scale(first, last);
    if (last == first || scale == 0) return;
    const bool up = std::abs(d_(last)) < std::abs(d_(first));  // QR: from the last on
    int64_t l = up ? last : first;
    const int64_t end = up ? first : last, step = up ? -1 : 1;
    // The off-diagonal between i and its neighbour in that direction.
    auto beside = [&](int64_t i) -> R& { return e_(up ? i - 1 : i); };
    while ((up ? l >= end : l <= end)) {
      int64_t m = l;
      for (; m != end; m += step) {
        const R size = beside(m) * beside(m);
        if (size <= (kEpsilon * kEpsilon * std::abs(d_(m))) * std::abs(d_(m + step)) +
                        std::numeric_limits<R>::min()) {
          beside(m) = 0;
          break;
        }
      }
      if (m == l) {
        l += step;
        continue;
      }
      if (m == l + step) {
        const int64_t low = std::min(l, m);
        const SymmetricPair<R> pair = solve_pair(d_(low), e_(low), d_(low + 1));
        turn(low, pair.cs, pair.sn);
        d_(low) = pair.first;
        d_(low + 1) = pair.second;
        e_(low) = 0;
        l += 2 * step;
        continue;
      }
      if (sweeps_left_-- <= 0 || problem_.is_late()) return;
      sweep(l, m, step, beside);
    }
  }

  R block_scale(int64_t first, int64_t last) const {
    R scale = d_.segment(first, last - first + 1).cwiseAbs().maxCoeff();
    for (int64_t i = first; i < last; ++i) scale = std::max(scale, std::abs(e_(i)));
    return scale;
  }

  template <class Beside>
  void sweep(int64_t l, int64_t m, int64_t step, const Beside& beside) {
    R p = d_(l);
    R g = (d_(l + step) - p) / (2 * beside(l));
    R r = std::hypot(g, R(1));
    g = d_(m) - p + beside(l) / (g + std::copysign(r, g));
    R s = 1, c = 1;
    p = 0;
    std::vector<std::pair<R, R>> turns;
    for (int64_t i = m - step; i != l - step; i -= step) {
      const R f = s * beside(i), b = c * beside(i);
      const Rotation<R> rotation = make_rotation(g, f);
      c = rotation.c;
      s = rotation.s;
      if (i != m - step) beside(i + step) = rotation.r;
      g = d_(i + step) - p;
      r = (d_(i) - g) * s + 2 * c * b;
      p = s * r;
      d_(i + step) = g + p;
      g = c * r - b;
      turns.emplace_back(c, s);
    }
    int64_t i = m - step;
    for (auto [cosine, sine] : turns) {
      if (step > 0) {
        turn(i, cosine, -sine);
      } else {
        turn(i - 1, cosine, sine);
      }
      i -= step;
    }
    d_(l) -= p;
    beside(l) = g;
  }

  // lasr of one rotation: columns j and j + 1.
  void turn(int64_t j, R c, R s) {
    if (z_.cols() > 0) rotate(z_.col(j), z_.col(j + 1), c, s);
  }

  void sort() {
    const int64_t n = d_.size();
    for (int64_t i = 0; i + 1 < n; ++i) {
      int64_t least = i;
      for (int64_t j = i + 1; j < n; ++j) {
        if (d_(j) < d_(least)) least = j;
      }
      if (least == i) continue;
      std::swap(d_(i), d_(least));
      if (z_.cols() > 0) z_.col(i).swap(z_.col(least));
    }
  }

  Vector<R>& d_;
  Vector<R>& e_;
  Matrix<T>& z_;
  const Problem& problem_;
  int64_t sweeps_left_;
};

}  // namespace

template <class T>
void syevd(Problem& problem) {
  using R = RealOf<T>;
  const bool lower = problem.options().uplo == 'L', vectors = problem.options().mode == 'V';
  Matrix<T> a = problem.get<T>('A');
  // Far from 1 squares would overflow or vanish.
  R scale = 1;
  const R largest = largest_part(a);
  const R tiny = std::sqrt(std::numeric_limits<R>::min() / std::numeric_limits<R>::epsilon());
  if (largest > 0 && std::isfinite(largest) && (largest < tiny || largest > 1 / tiny)) {
    scale = (largest < tiny ? tiny : 1 / tiny) / largest;
    a *= T(scale);
  }
  Tridiagonal<T> tridiagonal = make_tridiagonal(a, lower, problem);
  Matrix<R> turns = Matrix<R>::Identity(vectors ? a.rows() : 0, vectors ? a.cols() : 0);
  TridiagonalQr<R> qr(tridiagonal.diagonal, tridiagonal.beside, turns, problem);
  problem.set_integer('I', 0, qr.run());
  if (vectors) {
    const Matrix<T> basis = tridiagonal_basis(a, tridiagonal.tau, lower, problem);
    problem.set('A', basis * turns.template cast<T>());
  } else {
    problem.set('A', a);
  }
  problem.set('W', tridiagonal.diagonal / scale);
}

template void syevd<float>(Problem&);
template void syevd<double>(Problem&);
template void syevd<std::complex<float>>(Problem&);
template void syevd<std::complex<double>>(Problem&);

}  // namespace minihlo::lapack
