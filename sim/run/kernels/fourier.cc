#include "sim/run/kernels/fourier.h"

#include <algorithm>
#include <bit>

namespace minihlo {
namespace {

using Number = FourierTransform::Number;

constexpr int64_t kLargestDirect = 61;  // prime factor whose sums are worked out one by one

bool is_power_of_two(int64_t n) { return std::has_single_bit(static_cast<uint64_t>(n)); }

int64_t least_factor(int64_t n) {
  if (n % 4 == 0) return 4;
  for (int64_t factor = 2; factor * factor <= n; ++factor) {
    if (n % factor == 0) return factor;
  }
  return n;
}

// Factors that are too large for direct sums, each once.
std::vector<int64_t> large_factors(int64_t n) {
  std::vector<int64_t> factors;
  for (int64_t factor = 1; n > 1; n /= factor) {
    factor = least_factor(n);
    if (factor > kLargestDirect && (factors.empty() || factors.back() != factor)) {
      factors.push_back(factor);
    }
  }
  return factors;
}

int64_t convolution_length(int64_t size) {
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * size - 1)));
}

// Without the care for infinities that the library's operator takes.
Number product(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

}  // namespace

int64_t FourierTransform::memory(int64_t size) {
  if (is_power_of_two(size)) return PowerOfTwoTransform::memory(size);
  int64_t count = 3 * size, largest = kLargestDirect;
  for (int64_t factor : large_factors(size)) {
    largest = std::max(largest, factor);
    const int64_t length = convolution_length(factor);
    count += factor + length + PowerOfTwoTransform::memory(length);
  }
  if (largest > kLargestDirect) count += convolution_length(largest);
  return count + largest;
}

FourierTransform::FourierTransform(int64_t size, bool inverse, Number* memory, LateCheck& is_late)
    : size_(size), sign_(inverse ? 1 : -1), is_late_(is_late) {
  if (is_power_of_two(size)) {
    whole_.emplace(size, inverse, memory, is_late);
    return;
  }
  auto take = [&](int64_t count) {
    Number* taken = memory;
    memory += count;
    return taken;
  };
  roots_ = take(size);
  in_ = take(size);
  out_ = take(size);
  make_roots();
  int64_t largest = kLargestDirect;
  for (int64_t factor : large_factors(size)) {
    const int64_t length = convolution_length(factor);
    Number *factors = take(factor), *kernel = take(length);
    chirps_.push_back(
        {factor, length, factors, kernel,
         PowerOfTwoTransform(length, false, take(PowerOfTwoTransform::memory(length)), is_late)});
    largest = std::max(largest, factor);
  }
  mixed_ = take(largest);
  if (chirps_.empty()) return;
  work_ = take(convolution_length(largest));
  for (Chirp& chirp : chirps_) make_chirp(chirp);
}

bool FourierTransform::run(Number* values, int64_t stride) {
  if (whole_) return whole_->run(values, stride);
  for (int64_t i = 0; i < size_ && goes_on(1); ++i) in_[i] = values[i * stride];
  step(in_, 1, out_, size_);
  for (int64_t i = 0; i < size_ && goes_on(1); ++i) values[i * stride] = out_[i];
  return !has_given_up_;
}

void FourierTransform::make_roots() {
  for (int64_t k = 0; k < size_ && goes_on(16); ++k) {
    const Number root = root_of_one(k, size_);
    roots_[k] = {root.real(), sign_ * root.imag()};
  }
}

void FourierTransform::make_chirp(Chirp& chirp) {
  const int64_t turn = 2 * chirp.size;
  std::fill_n(chirp.kernel, chirp.length, 0);
  int64_t square = 0;  // k² modulo a turn
  for (int64_t k = 0; k < chirp.size && goes_on(16); ++k) {
    const Number root = root_of_one(square > chirp.size ? square - turn : square, turn);
    const Number factor(root.real(), sign_ * root.imag());
    chirp.factors[k] = factor;
    const Number conjugate = std::conj(factor) / static_cast<double>(chirp.length);
    chirp.kernel[k] = conjugate;
    if (k > 0) chirp.kernel[chirp.length - k] = conjugate;
    square = (square + 2 * k + 1) % turn;
  }
  has_given_up_ = has_given_up_ || !chirp.transform.run(chirp.kernel, 1);
}

// out[0..n) = transform of in[0], in[stride], ...; n divides the size.
void FourierTransform::step(const Number* in, int64_t stride, Number* out, int64_t n) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  const int64_t factor = least_factor(n), part = n / factor;
  for (int64_t f = 0; f < factor && !has_given_up_; ++f) {
    step(in + f * stride, stride * factor, out + f * part, part);
  }
  if (has_given_up_) return;
  if (factor == 2) return combine_two(out, part);
  if (factor == 4) return combine_four(out, part);
  if (factor <= kLargestDirect) return combine_few(out, factor, part);
  combine_many(out, *std::ranges::find(chirps_, factor, &Chirp::size), part);
}

// Parts that are transformed become the whole: sums over the factor with roots of 1.
void FourierTransform::combine_two(Number* out, int64_t part) {
  const int64_t turn = size_ / (2 * part);
  for (int64_t k = 0; k < part && goes_on(8); ++k) {
    const Number a = out[k], b = product(out[part + k], roots_[k * turn]);
    out[k] = a + b;
    out[part + k] = a - b;
  }
}

void FourierTransform::combine_four(Number* out, int64_t part) {
  const int64_t turn = size_ / (4 * part);
  for (int64_t k = 0; k < part && goes_on(16); ++k) {
    const Number a = out[k], b = product(out[part + k], roots_[k * turn]);
    const Number c = product(out[2 * part + k], roots_[2 * k * turn]);
    const Number d = product(out[3 * part + k], roots_[3 * k * turn]);
    const Number even = a + c, odd = a - c, sum = b + d, difference = b - d;
    const Number turned(-sign_ * difference.imag(), sign_ * difference.real());
    out[k] = even + sum;
    out[part + k] = odd + turned;
    out[2 * part + k] = even - sum;
    out[3 * part + k] = odd - turned;
  }
}

void FourierTransform::combine_few(Number* out, int64_t factor, int64_t part) {
  const int64_t n = factor * part, turn = size_ / n;
  for (int64_t k = 0; k < part; ++k) {
    for (int64_t f = 0; f < factor; ++f) mixed_[f] = out[f * part + k];
    for (int64_t j = k; j < n; j += part) {
      if (!goes_on(factor * 4)) return;
      Number sum = mixed_[0];
      for (int64_t f = 1; f < factor; ++f) sum += product(mixed_[f], roots_[j * f % n * turn]);
      out[j] = sum;
    }
  }
}

void FourierTransform::combine_many(Number* out, Chirp& chirp, int64_t part) {
  const int64_t turn = size_ / (chirp.size * part);
  for (int64_t k = 0; k < part && !has_given_up_; ++k) {
    for (int64_t f = 0; f < chirp.size; ++f) {
      if (!goes_on(8)) return;
      mixed_[f] = product(out[f * part + k], roots_[k * f * turn]);
    }
    convolve(chirp, mixed_);
    for (int64_t f = 0; f < chirp.size && goes_on(1); ++f) out[f * part + k] = mixed_[f];
  }
}

// The transform of `values`: with jk = (j² + k² - (k - j)²) / 2 its sums are a convolution.
void FourierTransform::convolve(Chirp& chirp, Number* values) {
  for (int64_t k = 0; k < chirp.size && goes_on(4); ++k) {
    work_[k] = product(values[k], chirp.factors[k]);
  }
  std::fill(work_ + chirp.size, work_ + chirp.length, 0);
  has_given_up_ = has_given_up_ || !chirp.transform.run(work_, 1);
  // The way back is that of the conjugates.
  for (int64_t k = 0; k < chirp.length && goes_on(4); ++k) {
    work_[k] = std::conj(product(work_[k], chirp.kernel[k]));
  }
  has_given_up_ = has_given_up_ || !chirp.transform.run(work_, 1);
  for (int64_t k = 0; k < chirp.size && goes_on(4); ++k) {
    values[k] = product(std::conj(work_[k]), chirp.factors[k]);
  }
}

}  // namespace minihlo
