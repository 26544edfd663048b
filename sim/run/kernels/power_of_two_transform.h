// Discrete Fourier transforms whose length is a power of two, in pairs of doubles.
#pragma once

#include <complex>
#include <cstdint>

#include "sim/run/workers.h"

namespace minihlo {

/// e^(2πi k/n), |k| <= n.
std::complex<double> root_of_one(int64_t k, int64_t n);

/// A transform of length AB as transforms of length A along the columns of a matrix and of length B
/// along its rows, a few of them side by side in what the cache holds. Bits do not depend on what
/// lies side by side.
class PowerOfTwoTransform {
 public:
  using Number = std::complex<double>;

  /// Numbers of memory that transforms of a length need.
  static int64_t memory(int64_t size);

  /// Not scaled, whether `inverse` or not. `memory` is for this one alone. What is unfinished when
  /// time is out has no particular values.
  PowerOfTwoTransform(int64_t size, bool inverse, Number* memory, LateCheck& is_late);

  /// `values`, `stride` apart, in place. False when time is out.
  bool run(Number* values, int64_t stride);

 private:
  double* transform_block(int64_t size);

  const int64_t columns_, rows_;
  const double sign_;
  Number* roots_;   // of 1, of the order `columns_`
  Number* fine_;    // the first `columns_` of the order `size_`
  Number* matrix_;  // between columns and rows
  // Numbers that lie side by side: the real parts of each, then the imaginary ones.
  double *block_, *other_block_;
  LateCheck& is_late_;
};

}  // namespace minihlo
