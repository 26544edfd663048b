#include "sim/run/kernels/power_of_two_transform.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <utility>

#include "ir/vector_code.h"

namespace minihlo {
namespace {

using Number = PowerOfTwoTransform::Number;

constexpr int64_t kLanes = 8;          // transforms side by side
constexpr int64_t kStep = 2 * kLanes;  // doubles of them

// Of rows, as many as of columns or half of them.
int64_t columns_of(int64_t size) {
  const int bits = std::countr_zero(static_cast<uint64_t>(size));
  return int64_t{1} << ((bits + 1) / 2);
}

// One step of Stockham's transforms of length n: numbers that are s apart, s such transforms behind
// one another. In each, number p of a quarter is combined with those of the other quarters, and
// what comes out multiplied by roots of 1, of which every `turn`th has order n.
MINIHLO_ALWAYS_INLINE inline void four_at_a_time(int64_t n, int64_t s, double sign,
                                                 const Number* roots, int64_t turn,
                                                 const double* __restrict in,
                                                 double* __restrict out) {
  const int64_t quarter = n / 4, apart = quarter * s * kStep;
  for (int64_t p = 0; p < quarter; ++p) {
    const Number w1 = roots[p * turn], w2 = roots[2 * p * turn], w3 = roots[3 * p * turn];
    const double w1r = w1.real(), w1i = w1.imag(), w2r = w2.real(), w2i = w2.imag();
    const double w3r = w3.real(), w3i = w3.imag();
    for (int64_t q = 0; q < s; ++q) {
      const double* __restrict from = in + (q + s * p) * kStep;
      double* __restrict to = out + (q + 4 * s * p) * kStep;
      for (int64_t v = 0; v < kLanes; ++v) {
        const double ar = from[v], ai = from[v + kLanes];
        const double br = from[apart + v], bi = from[apart + v + kLanes];
        const double cr = from[2 * apart + v], ci = from[2 * apart + v + kLanes];
        const double dr = from[3 * apart + v], di = from[3 * apart + v + kLanes];
        const double even_r = ar + cr, even_i = ai + ci, odd_r = ar - cr, odd_i = ai - ci;
        const double sum_r = br + dr, sum_i = bi + di;
        const double turned_r = sign * (di - bi), turned_i = sign * (br - dr);
        const double y1r = odd_r + turned_r, y1i = odd_i + turned_i;
        const double y2r = even_r - sum_r, y2i = even_i - sum_i;
        const double y3r = odd_r - turned_r, y3i = odd_i - turned_i;
        to[v] = even_r + sum_r;
        to[v + kLanes] = even_i + sum_i;
        to[s * kStep + v] = y1r * w1r - y1i * w1i;
        to[s * kStep + v + kLanes] = y1r * w1i + y1i * w1r;
        to[2 * s * kStep + v] = y2r * w2r - y2i * w2i;
        to[2 * s * kStep + v + kLanes] = y2r * w2i + y2i * w2r;
        to[3 * s * kStep + v] = y3r * w3r - y3i * w3i;
        to[3 * s * kStep + v + kLanes] = y3r * w3i + y3i * w3r;
      }
    }
  }
}

// The last step where two are left.
MINIHLO_ALWAYS_INLINE inline void two_at_a_time(int64_t s, const double* __restrict in,
                                                double* __restrict out) {
  for (int64_t i = 0; i < s * kStep; ++i) {
    const double a = in[i], b = in[s * kStep + i];
    out[i] = a + b;
    out[s * kStep + i] = a - b;
  }
}

}  // namespace

Number root_of_one(int64_t k, int64_t n) {
  // Quarters of a turn are exact, so that what cancels does.
  constexpr Number kQuarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  if (4 * k % n == 0) return kQuarters[(4 * k / n + 4) % 4];
  // Angles beyond an eighth of a turn lose digits, but no more than one.
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

int64_t PowerOfTwoTransform::memory(int64_t size) {
  return size + (2 + 2 * kLanes) * columns_of(size);
}

PowerOfTwoTransform::PowerOfTwoTransform(int64_t size, bool inverse, Number* memory,
                                         LateCheck& is_late)
    : columns_(columns_of(size)),
      rows_(size / columns_),
      sign_(inverse ? 1 : -1),
      roots_(memory),
      fine_(roots_ + columns_),
      matrix_(fine_ + columns_),
      block_(reinterpret_cast<double*>(matrix_ + size)),
      other_block_(block_ + columns_ * kStep),
      is_late_(is_late) {
  std::fill_n(block_, columns_ * kStep,
              0);  // where fewer lie side by side the rest is not looked at
  for (int64_t k = 0; k < columns_; ++k) {
    const Number root = root_of_one(k, columns_), fine = root_of_one(k, size);
    roots_[k] = {root.real(), sign_ * root.imag()};
    fine_[k] = {fine.real(), sign_ * fine.imag()};
  }
}

// Transforms of length `size`, of the numbers in block_. Gives where the results are.
double* PowerOfTwoTransform::transform_block(int64_t size) {
  double *in = block_, *out = other_block_;
  run_vectorized([&]() MINIHLO_ALWAYS_INLINE {
    int64_t s = 1, n = size;
    for (; n >= 4; n /= 4, s *= 4) {
      four_at_a_time(n, s, sign_, roots_, columns_ / n, in, out);
      std::swap(in, out);
    }
    if (n == 2) {
      two_at_a_time(s, in, out);
      std::swap(in, out);
    }
  });
  return in;
}

bool PowerOfTwoTransform::run(Number* values, int64_t stride) {
  // Number m of the transform's roots is that of `rows_` times that of the fine ones.
  const int64_t coarse = columns_ / rows_;
  for (int64_t column = 0; column < columns_; column += kLanes) {
    const int64_t lanes = std::min(kLanes, columns_ - column);
    if (is_late_(rows_ * kLanes * 32)) return false;
    for (int64_t row = 0; row < rows_; ++row) {
      const Number* from = values + (row * columns_ + column) * stride;
      double* to = block_ + row * kStep;
      for (int64_t v = 0; v < lanes; ++v) {
        to[v] = from[v * stride].real();
        to[v + kLanes] = from[v * stride].imag();
      }
    }
    const double* done = transform_block(rows_);
    for (int64_t row = 0; row < rows_; ++row) {
      const double* from = done + row * kStep;
      Number* to = matrix_ + row * columns_ + column;
      for (int64_t v = 0; v < lanes; ++v) {
        const int64_t m = row * (column + v);
        const Number a = roots_[m / columns_ * coarse], b = fine_[m % columns_];
        const double wr = a.real() * b.real() - a.imag() * b.imag();
        const double wi = a.real() * b.imag() + a.imag() * b.real();
        const double re = from[v], im = from[v + kLanes];
        to[v] = {re * wr - im * wi, re * wi + im * wr};
      }
    }
  }
  for (int64_t row = 0; row < rows_; row += kLanes) {
    const int64_t lanes = std::min(kLanes, rows_ - row);
    if (is_late_(columns_ * kLanes * 32)) return false;
    for (int64_t column = 0; column < columns_; ++column) {
      double* to = block_ + column * kStep;
      for (int64_t v = 0; v < lanes; ++v) {
        const Number number = matrix_[(row + v) * columns_ + column];
        to[v] = number.real();
        to[v + kLanes] = number.imag();
      }
    }
    const double* done = transform_block(columns_);
    for (int64_t column = 0; column < columns_; ++column) {
      const double* from = done + column * kStep;
      Number* to = values + (column * rows_ + row) * stride;
      for (int64_t v = 0; v < lanes; ++v) to[v * stride] = {from[v], from[v + kLanes]};
    }
  }
  return true;
}

}  // namespace minihlo
