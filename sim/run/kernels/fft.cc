// fft: discrete Fourier transforms over the last one to three dimensions, in pairs of doubles,
// rounded once.
#include <algorithm>
#include <complex>
#include <limits>
#include <span>
#include <vector>

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"
#include "sim/run/kernels/complex_elements.h"
#include "sim/run/kernels/fourier.h"

namespace minihlo {
namespace {

using Number = FourierTransform::Number;

struct Plan {
  FftType kind;
  std::vector<int64_t> lengths;
  ElementType from, to;
  Buffer operand, result, scratch;
  int64_t in_columns, out_columns;  // of the last dimension
  int64_t rows;                     // of one batch item: the other lengths

  bool is_inverse() const { return kind == FftType::kIfft || kind == FftType::kIrfft; }
};

// The transforms of one batch item: every one along an axis before those along the next. They give
// up when time is out.
class Item {
 public:
  /// One transform for each length.
  Item(const Plan& plan, int64_t number, std::span<FourierTransform> transforms, LateCheck& is_late)
      : plan_(plan),
        number_(number),
        last_(plan.lengths.back()),
        work_(reinterpret_cast<Number*>(Buffer(plan.scratch).mutable_data()) +
              number * plan.rows * last_),
        transforms_(transforms),
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
    for (int64_t r = 0; r < plan_.rows; ++r) {
      if (!transforms_.back().run(work_ + r * last_, 1)) return false;
    }
    return true;
  }

  bool along_leading() {
    int64_t stride = last_;
    for (size_t axis = plan_.lengths.size() - 1; axis-- > 0;) {
      const int64_t size = plan_.lengths[axis];
      FourierTransform& transform = transforms_[axis];
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
    const double scale = plan_.is_inverse() ? 1 / static_cast<double>(plan_.rows * last_) : 1;
    for (int64_t r = 0; r < plan_.rows; ++r) {
      for (int64_t c = 0; c < plan_.out_columns && !is_late_(4); ++c) {
        store_complex(plan_.to, work_[r * last_ + c] * scale, Buffer(plan_.result).mutable_data(),
                      (number_ * plan_.rows + r) * plan_.out_columns + c);
      }
    }
  }

  const Plan& plan_;
  const int64_t number_, last_;
  Number* work_;  // of the item
  std::span<FourierTransform> transforms_;
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
  for (int64_t length : plan.lengths) memory += FourierTransform::memory(length);
  const int64_t cost = plan.rows * plan.lengths.back() * 64;
  call.add(items, cost,
           [plan = std::move(plan), memory, &instruction = call.instruction,
            &context = call.context](int64_t begin, int64_t end) {
             auto numbers = allocate_for(instruction, context, memory * int64_t{sizeof(Number)});
             if (!numbers) return context.workers.fail(std::move(numbers.error()));
             auto* next = reinterpret_cast<Number*>(numbers->mutable_data());
             LateCheck is_late(context.workers);
             std::vector<FourierTransform> transforms;
             for (int64_t length : plan.lengths) {
               transforms.emplace_back(length, plan.is_inverse(), next, is_late);
               next += FourierTransform::memory(length);
             }
             for (int64_t i = begin; i < end; ++i) {
               Item(plan, i, transforms, is_late).run();
             }
           });
  return {};
}

}  // namespace minihlo
