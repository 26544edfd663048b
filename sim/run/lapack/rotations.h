// Plane rotations as LAPACK makes them.
#pragma once

#include <cmath>

#include "sim/run/lapack/problem.h"

namespace minihlo::lapack {

/// c g'  with  (c s; -s c) (f, g) = (r, 0); c >= 0, r has the sign of f.
template <class R>
struct Rotation {
  R c, s, r;
};

/// lartg.
template <class R>
Rotation<R> make_rotation(R f, R g) {
  if (g == 0) return {R(1), R(0), f};
  if (f == 0) return {R(0), std::copysign(R(1), g), std::abs(g)};
  const R r = std::copysign(std::hypot(f, g), f);
  return {std::abs(f) / std::abs(r), g / r, r};
}

/// (x, y) := (c x + s y, c y - s x) of whole columns or rows.
template <class X, class Y, class R>
void rotate(X&& x, Y&& y, R c, R s) {
  using T = typename std::decay_t<X>::Scalar;
  for (int64_t i = 0; i < x.size(); ++i) {
    const T old = x(i);
    x(i) = c * old + s * y(i);
    y(i) = c * y(i) - s * old;
  }
}

}  // namespace minihlo::lapack
