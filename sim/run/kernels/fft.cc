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

int64_t least_factor(int64_t n) {
  for (int64_t factor = 2; factor * factor <= n; ++factor) {
    if (n % factor == 0) return factor;
  }
  return n;
}

// Transforms of one length, by Cooley and Tukey over the prime factors. What is unfinished when
// time is out has no particular values.
class Transform {
 public:
  /// Numbers of memory that transforms of a length need.
  static int64_t memory(int64_t size) { return 3 * size + largest_factor(size); }

  Transform(int64_t size, bool inverse, Number* memory, LateCheck& is_late)
      : size_(size),
        roots_(memory),
        in_(memory + size),
        out_(memory + 2 * size),
        mixed_(memory + 3 * size),
        is_late_(is_late) {
    const double sign = inverse ? 1 : -1;
    for (int64_t k = 0; k < size && goes_on(16); ++k) {
      // Angles beyond an eighth of a turn lose digits, but no more than one.
      const double angle =
          2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(size);
      Number root(std::cos(angle), std::sin(angle));
      // Quarters of a turn are exact, so that what cancels does.
      constexpr Number kQuarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
      if (4 * k % size == 0) root = kQuarters[4 * k / size];
      roots_[k] = {root.real(), sign * root.imag()};
    }
  }

  /// `values`, `stride` apart, in place. False when time is out.
  bool run(Number* values, int64_t stride) {
    for (int64_t i = 0; i < size_ && goes_on(1); ++i) in_[i] = values[i * stride];
    step(in_, 1, out_, size_);
    for (int64_t i = 0; i < size_ && goes_on(1); ++i) values[i * stride] = out_[i];
    return !has_given_up_;
  }

 private:
  static int64_t largest_factor(int64_t n) {
    int64_t factor = 1;
    for (; n > 1; n /= factor) factor = least_factor(n);
    return factor;
  }

  bool goes_on(int64_t operations) {
    has_given_up_ = has_given_up_ || is_late_(operations);
    return !has_given_up_;
  }

  // out[0..n) = transform of in[0], in[stride], ...; n divides the size.
  void step(const Number* in, int64_t stride, Number* out, int64_t n) {
    if (n == 1) {
      out[0] = in[0];
      return;
    }
    const int64_t factor = least_factor(n), part = n / factor;
    for (int64_t f = 0; f < factor && !has_given_up_; ++f) {
      step(in + f * stride, stride * factor, out + f * part, part);
    }
    const int64_t turn = size_ / n;
    for (int64_t k = 0; k < part; ++k) {
      for (int64_t f = 0; f < factor; ++f) mixed_[f] = out[f * part + k];
      for (int64_t j = k; j < n && goes_on(factor * 4); j += part) {
        Number sum = mixed_[0];
        for (int64_t f = 1; f < factor; ++f) sum += mixed_[f] * roots_[j * f % n * turn];
        out[j] = sum;
      }
      if (has_given_up_) return;
    }
  }

  int64_t size_;
  Number *roots_, *in_, *out_, *mixed_;
  LateCheck& is_late_;
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

// The transforms of one batch item: every one along an axis before those along the next. They give
// up when time is out.
class Item {
 public:
  Item(const Plan& plan, int64_t number, Number* memory, LateCheck& is_late)
      : plan_(plan),
        number_(number),
        last_(plan.lengths.back()),
        inverse_(plan.kind == FftType::kIfft || plan.kind == FftType::kIrfft),
        work_(reinterpret_cast<Number*>(Buffer(plan.scratch).mutable_data()) +
              number * plan.rows * last_),
        memory_(memory),
        is_late_(is_late) {}

  void run() {
    const bool is_done = plan_.kind == FftType::kIrfft
                             ? load() && along_leading() && mirror() && along_last()
                             : load() && along_last() && along_leading();
    if (is_done) store();
  }

 private:
  bool load() {
    for (int64_t r = 0; r < plan_.rows; ++r) {
      for (int64_t c = 0; c < last_; ++c) {
        if (is_late_(4)) return false;
        Number value = 0;
        if (c < plan_.in_columns) {
          value = load_complex(plan_.from, plan_.operand.data(),
                               (number_ * plan_.rows + r) * plan_.in_columns + c);
        }
        work_[r * last_ + c] = value;
      }
    }
    return true;
  }

  bool along_last() {
    Transform transform(last_, inverse_, memory_, is_late_);
    for (int64_t r = 0; r < plan_.rows; ++r) {
      if (!transform.run(work_ + r * last_, 1)) return false;
    }
    return true;
  }

  bool along_leading() {
    int64_t stride = last_;
    for (size_t axis = plan_.lengths.size() - 1; axis-- > 0;) {
      const int64_t size = plan_.lengths[axis];
      Transform transform(size, inverse_, memory_, is_late_);
      for (int64_t i = 0; i < plan_.rows * last_ / size; ++i) {
        if (!transform.run(work_ + i / stride * stride * size + i % stride, stride)) return false;
      }
      stride *= size;
    }
    return true;
  }

  // Half of a spectrum whose other half is its mirror image, once the other axes are done. What is
  // its own image is real: an imaginary part does not count, whatever it is.
  bool mirror() {
    for (int64_t r = 0; r < plan_.rows; ++r) {
      work_[r * last_].imag(0);
      if (last_ % 2 == 0) work_[r * last_ + last_ / 2].imag(0);
      for (int64_t c = plan_.in_columns; c < last_; ++c) {
        if (is_late_(1)) return false;
        work_[r * last_ + c] = std::conj(work_[r * last_ + last_ - c]);
      }
    }
    return true;
  }

  void store() {
    const double scale = inverse_ ? 1 / static_cast<double>(plan_.rows * last_) : 1;
    for (int64_t r = 0; r < plan_.rows; ++r) {
      for (int64_t c = 0; c < plan_.out_columns && !is_late_(4); ++c) {
        store_complex(plan_.to, work_[r * last_ + c] * scale, Buffer(plan_.result).mutable_data(),
                      (number_ * plan_.rows + r) * plan_.out_columns + c);
      }
    }
  }

  const Plan& plan_;
  const int64_t number_, last_;
  const bool inverse_;
  Number* work_;    // of the item
  Number* memory_;  // for its transforms
  LateCheck& is_late_;
};

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
  int64_t memory = 0;
  for (int64_t length : plan.lengths) memory = std::max(memory, Transform::memory(length));
  const int64_t cost = plan.rows * plan.lengths.back() * 64;
  call.add(items, cost,
           [plan = std::move(plan), memory, &instruction = call.instruction,
            &context = call.context](int64_t begin, int64_t end) {
             auto numbers = allocate_for(instruction, context, memory * int64_t{sizeof(Number)});
             if (!numbers) return context.workers.fail(std::move(numbers.error()));
             LateCheck is_late(context.workers);
             for (int64_t i = begin; i < end; ++i) {
               Item(plan, i, reinterpret_cast<Number*>(numbers->mutable_data()), is_late).run();
             }
           });
  return {};
}

}  // namespace minihlo
