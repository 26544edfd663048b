// Discrete Fourier transforms of one length, in pairs of doubles.
#pragma once

#include <complex>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/run/kernels/power_of_two_transform.h"
#include "sim/run/workers.h"

namespace minihlo {

/// Transforms by Cooley and Tukey over the factors of the length; those by large prime factors as
/// convolutions, by Bluestein, so that no length takes quadratic time. What is unfinished when time
/// is out has no particular values.
class FourierTransform {
 public:
  using Number = std::complex<double>;

  /// Numbers of memory that transforms of a length need.
  static int64_t memory(int64_t size);

  /// Not scaled, whether `inverse` or not. `memory` is for this one alone.
  FourierTransform(int64_t size, bool inverse, Number* memory, LateCheck& is_late);

  /// `values`, `stride` apart, in place. False when time is out.
  bool run(Number* values, int64_t stride);

 private:
  // What the transform of a prime length is as a convolution with a chirp: of w^(k²/2), w being the
  // root of 1.
  struct Chirp {
    int64_t size;     // the prime
    int64_t length;   // of the convolution, a power of two
    Number* factors;  // w^(k²/2), k < size
    Number* kernel;   // the transform of their conjugates, divided by `length`
    PowerOfTwoTransform transform;
  };

  bool goes_on(int64_t operations) {
    has_given_up_ = has_given_up_ || is_late_(operations);
    return !has_given_up_;
  }
  void make_roots();
  void make_chirp(Chirp& chirp);
  void step(const Number* in, int64_t stride, Number* out, int64_t n);
  void combine_two(Number* out, int64_t part);
  void combine_four(Number* out, int64_t part);
  void combine_few(Number* out, int64_t factor, int64_t part);
  void combine_many(Number* out, Chirp& chirp, int64_t part);
  void convolve(Chirp& chirp, Number* values);

  const int64_t size_;
  const double sign_;
  std::optional<PowerOfTwoTransform>
      whole_;  // where the size is a power of two: all else is unused
  Number *roots_ = nullptr, *in_ = nullptr, *out_ = nullptr, *mixed_ = nullptr, *work_ = nullptr;
  std::vector<Chirp> chirps_;
  LateCheck& is_late_;
  bool has_given_up_ = false;
};

}  // namespace minihlo
