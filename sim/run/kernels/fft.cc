// fft: discrete Fourier transforms over the last one to three dimensions, in pairs of doubles,
// rounded once.
#include <algorithm>
#include <complex>
#include <limits>
#include <numbers>
#include <vector>

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"
#include "sim/run/kernels/complex_elements.h"

namespace minihlo {
namespace {

using Number = std::complex<double>;

// Transforms of one length, by Cooley and Tukey over the prime factors. What is unfinished when
// time is out has no particular values.
class Transform {
 public:
  Transform(int64_t size, bool inverse, Workers& workers)
      : size_(size), roots_(static_cast<size_t>(size)), is_late_(workers) {
    const double sign = inverse ? 1 : -1;
    for (int64_t k = 0; k < size && !is_late_(16); ++k) {
      // Angles beyond an eighth of a turn lose digits, but no more than one.
      const double angle =
          2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
      Number root(std::cos(angle), std::sin(angle));
      // Quarters of a turn are exact, so that what cancels does.
      constexpr Number kQuarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
      if (4 * k % size == 0) root = kQuarters[4 * k / size];
      roots_[static_cast<size_t>(k)] = {root.real(), sign * root.imag()};
    }
    has_given_up_ = workers.is_late();
  }

  /// `values`, `stride` apart, in place.
  void run(Number* values, int64_t stride) {
    if (has_given_up_) return;
    in_.resize(roots_.size());
    out_.resize(roots_.size());
    for (int64_t i = 0; i < size_; ++i) in_[static_cast<size_t>(i)] = values[i * stride];
    step(in_.data(), 1, out_.data(), size_);
    for (int64_t i = 0; i < size_; ++i) values[i * stride] = out_[static_cast<size_t>(i)];
  }

 private:
  // out[0..n) = transform of in[0], in[stride], ...; n divides the size.
  void step(const Number* in, int64_t stride, Number* out, int64_t n) {
    if (n == 1) {
      out[0] = in[0];
      return;
    }
    int64_t factor = 2;
    while (n % factor != 0) factor = factor * factor > n ? n : factor + 1;
    const int64_t part = n / factor;
    for (int64_t f = 0; f < factor && !has_given_up_; ++f) {
      step(in + f * stride, stride * factor, out + f * part, part);
    }
    std::vector<Number> mixed(static_cast<size_t>(n));
    const int64_t turn = size_ / n;
    for (int64_t k = 0; k < n && !has_given_up_; ++k) {
      has_given_up_ = is_late_(factor * 4);
      Number sum = out[k % part];
      for (int64_t f = 1; f < factor; ++f) {
        const int64_t power = k * f % n * turn;
        sum += out[f * part + k % part] * roots_[static_cast<size_t>(power)];
      }
      mixed[static_cast<size_t>(k)] = sum;
    }
    std::copy(mixed.begin(), mixed.end(), out);
  }

  int64_t size_;
  std::vector<Number> roots_, in_, out_;
  LateCheck is_late_;
  bool has_given_up_ = false;
};

struct Plan {
  FftType kind;
  std::vector<int64_t> lengths;
  ElementType from, to;
  Buffer operand, result, scratch;
  int64_t in_columns, out_columns;  // of the last dimension
  int64_t rows;                     // of one batch item: the other lengths
};

void transform_item(const Plan& plan, int64_t item, Workers& workers) {
  const bool inverse = plan.kind == FftType::kIfft || plan.kind == FftType::kIrfft;
  const int64_t last = plan.lengths.back();
  Number* work =
      reinterpret_cast<Number*>(Buffer(plan.scratch).mutable_data()) + item * plan.rows * last;
  for (int64_t r = 0; r < plan.rows; ++r) {
    for (int64_t c = 0; c < last; ++c) {
      Number value = 0;
      if (c < plan.in_columns) {
        value = load_complex(plan.from, plan.operand.data(),
                             (item * plan.rows + r) * plan.in_columns + c);
      }
      work[r * last + c] = value;
    }
  }
  auto leading = [&] {
    int64_t stride = last;
    for (size_t axis = plan.lengths.size() - 1; axis-- > 0;) {
      const int64_t size = plan.lengths[axis];
      Transform transform(size, inverse, workers);
      for (int64_t i = 0; i < plan.rows * last / size; ++i) {
        transform.run(work + i / stride * stride * size + i % stride, stride);
      }
      stride *= size;
    }
  };
  auto along_last = [&] {
    Transform transform(last, inverse, workers);
    for (int64_t r = 0; r < plan.rows; ++r) transform.run(work + r * last, 1);
  };
  if (plan.kind == FftType::kIrfft) {
    // Half of a spectrum whose other half is its mirror image, once the other axes are done. What
    // is its own image is real: an imaginary part does not count, whatever it is.
    leading();
    for (int64_t r = 0; r < plan.rows; ++r) {
      work[r * last].imag(0);
      if (last % 2 == 0) work[r * last + last / 2].imag(0);
      for (int64_t c = plan.in_columns; c < last; ++c) {
        work[r * last + c] = std::conj(work[r * last + last - c]);
      }
    }
    along_last();
  } else {
    along_last();
    leading();
  }
  const double scale = inverse ? 1 / static_cast<double>(plan.rows * last) : 1;
  for (int64_t r = 0; r < plan.rows; ++r) {
    for (int64_t c = 0; c < plan.out_columns; ++c) {
      store_complex(plan.to, work[r * last + c] * scale, Buffer(plan.result).mutable_data(),
                    (item * plan.rows + r) * plan.out_columns + c);
    }
  }
}

}  // namespace

KernelResult fft_kernel(KernelCall& call) {
  const Shape *from = call.operand_shape(0), *to = call.instruction.shape();
  std::span<const int64_t> lengths = call.instruction.get(attr::fft_length);
  auto operand = call.dense(0);
  if (!operand) return tl::unexpected(std::move(operand.error()));
  auto result = call.allocate(to);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  if (to->element_count() == 0) return {};
  const auto rank = static_cast<size_t>(to->rank());
  Plan plan{call.instruction.get(attr::fft_type),
            {lengths.begin(), lengths.end()},
            from->element_type(),
            to->element_type(),
            *operand,
            *result,
            {},
            from->dims()[rank - 1],
            to->dims()[rank - 1],
            1};
  for (size_t i = 0; i + 1 < lengths.size(); ++i) plan.rows *= lengths[i];
  // Lengths that differ from the dimensions pass shape inference.
  const bool is_real_result = plan.kind == FftType::kIrfft;
  std::span<const int64_t> dims = (is_real_result ? to : from)->dims();
  const int64_t half = lengths.back() / 2 + 1;
  if (!std::ranges::equal(lengths, dims.subspan(rank - lengths.size())) ||
      plan.in_columns != (is_real_result ? half : lengths.back()) ||
      plan.out_columns != (plan.kind == FftType::kRfft ? half : lengths.back())) {
    return tl::unexpected(Stop::unsupported("fft", "fft_length that is not the operand's size"));
  }
  const int64_t items = to->element_count() / plan.out_columns / plan.rows;
  int64_t count = 0, bytes = 0;
  if (__builtin_mul_overflow(items * plan.rows, plan.lengths.back(), &count) ||
      __builtin_mul_overflow(count, int64_t{sizeof(Number)}, &bytes)) {
    bytes = std::numeric_limits<int64_t>::max();
  }
  auto scratch = call.allocate(bytes);
  if (!scratch) return tl::unexpected(std::move(scratch.error()));
  plan.scratch = *std::move(scratch);
  const int64_t cost = plan.rows * plan.lengths.back() * 64;
  Workers& workers = call.context.workers;
  call.add(items, cost, [plan = std::move(plan), &workers](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) transform_item(plan, i, workers);
  });
  return {};
}

}  // namespace minihlo
