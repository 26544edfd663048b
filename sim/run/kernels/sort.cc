// sort: a stable merge sort with any comparator. Merges run side by side, so that the comparator
// sees many pairs at a time.
#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"

namespace minihlo {
namespace {

constexpr size_t kBatch = 1024;  // merges that run side by side

struct Plan {
  const ScalarProgram* before;
  std::vector<Buffer> arrays, results;
  std::vector<int64_t> widths;
  int64_t size;    // of a row: elements that are sorted
  int64_t stride;  // from one element of a row to the next
  Buffer orders;   // for each row two lists of `size` element numbers
};

// Two neighbouring runs on their way into one.
struct Merge {
  const int64_t *left, *left_end, *right, *right_end;
  int64_t* out;
  int64_t base;  // of the row's first element
};

class RowSorter {
 public:
  RowSorter(const Plan& plan, Workers& workers)
      : plan_(plan), workers_(workers), is_late_(workers), keep_(kBatch) {
    for (int64_t width : plan.widths) {
      for (int side = 0; side < 2; ++side) {
        gathered_.emplace_back(kBatch * static_cast<size_t>(width));
      }
    }
    for (const auto& values : gathered_) parameters_.push_back(values.data());
    steps_.assign(gathered_.size(), 1);
  }

  void sort(int64_t begin, int64_t end) {
    const int64_t n = plan_.size;
    for (int64_t row = begin; row < end; ++row) std::iota(order(row, 0), order(row, 0) + n, 0);
    int from = 0;
    for (int64_t run = 1; run < n; run *= 2, from = 1 - from) {
      if (workers_.is_late()) return;
      for (int64_t row = begin; row < end; ++row) {
        const int64_t* source = order(row, from);
        for (int64_t at = 0; at < n; at += 2 * run) {
          const int64_t *left = source + at, *right = source + std::min(n, at + run);
          merges_.push_back({left, right, right, source + std::min(n, at + 2 * run),
                             order(row, 1 - from) + at, base(row)});
          if (merges_.size() == kBatch) run_merges();
        }
      }
      run_merges();
    }
    // Orders that are unfinished may hold anything.
    if (workers_.is_late()) return;
    for (int64_t row = begin; row < end; ++row) place(row, order(row, from));
  }

 private:
  int64_t* order(int64_t row, int which) {
    return reinterpret_cast<int64_t*>(Buffer(plan_.orders).mutable_data()) +
           (row * 2 + which) * plan_.size;
  }
  // Rows are numbered over the dimensions before the sorted one, then those behind it.
  int64_t base(int64_t row) const {
    return row / plan_.stride * plan_.stride * plan_.size + row % plan_.stride;
  }

  void run_merges() {
    for (;;) {
      std::erase_if(merges_, [](Merge& merge) {
        if (merge.left != merge.left_end && merge.right != merge.right_end) return false;
        merge.out = std::copy(merge.left, merge.left_end, merge.out);
        std::copy(merge.right, merge.right_end, merge.out);
        return true;
      });
      if (merges_.empty()) return;
      if (is_late_(static_cast<int64_t>(merges_.size() * 16))) return merges_.clear();
      for (size_t k = 0; k < plan_.arrays.size(); ++k) {
        const int64_t width = plan_.widths[k];
        const std::byte* from = plan_.arrays[k].data();
        for (size_t i = 0; i < merges_.size(); ++i) {
          const Merge& merge = merges_[i];
          auto at = [&](int64_t element) {
            return from + (merge.base + element * plan_.stride) * width;
          };
          std::memcpy(gathered_[2 * k].data() + i * static_cast<size_t>(width), at(*merge.right),
                      static_cast<size_t>(width));
          std::memcpy(gathered_[2 * k + 1].data() + i * static_cast<size_t>(width), at(*merge.left),
                      static_cast<size_t>(width));
        }
      }
      // The right one goes first only where it must: equal elements keep their order.
      std::byte* result = keep_.data();
      plan_.before->run(static_cast<int64_t>(merges_.size()), parameters_.data(), steps_.data(),
                        &result);
      for (size_t i = 0; i < merges_.size(); ++i) {
        Merge& merge = merges_[i];
        *merge.out++ = keep_[i] != std::byte{0} ? *merge.right++ : *merge.left++;
      }
    }
  }

  void place(int64_t row, const int64_t* order) {
    for (size_t k = 0; k < plan_.arrays.size(); ++k) {
      const int64_t width = plan_.widths[k];
      const std::byte* from = plan_.arrays[k].data();
      std::byte* to = Buffer(plan_.results[k]).mutable_data();
      for (int64_t i = 0; i < plan_.size && !is_late_(16); ++i) {
        std::memcpy(to + (base(row) + i * plan_.stride) * width,
                    from + (base(row) + order[i] * plan_.stride) * width,
                    static_cast<size_t>(width));
      }
    }
  }

  const Plan& plan_;
  Workers& workers_;
  LateCheck is_late_;
  std::vector<std::vector<std::byte>> gathered_;  // right and left element of each operand
  std::vector<const std::byte*> parameters_;
  std::vector<int64_t> steps_;
  std::vector<std::byte> keep_;
  std::vector<Merge> merges_;
};

}  // namespace

KernelResult sort_kernel(KernelCall& call) {
  auto program = call.context.programs.of(*call.instruction.get(attr::to_apply));
  if (!program) return tl::unexpected(std::move(program.error()));
  const Shape* shape = call.operand_shape(0);
  const int64_t dimension = call.instruction.get(attr::dimensions)[0];
  Plan plan{*program,
            {},
            {},
            {},
            shape->dim(dimension),
            row_major_strides(shape->dims())[static_cast<size_t>(dimension)],
            {}};
  int64_t order_bytes = 0;
  if (__builtin_mul_overflow(shape->element_count(), int64_t{2 * sizeof(int64_t)}, &order_bytes)) {
    order_bytes = std::numeric_limits<int64_t>::max();
  }
  auto orders = call.allocate(order_bytes);
  if (!orders) return tl::unexpected(std::move(orders.error()));
  plan.orders = *std::move(orders);
  int64_t width = 0;
  for (size_t k = 0; k < call.operands.size(); ++k) {
    auto array = call.dense(k);
    if (!array) return tl::unexpected(std::move(array.error()));
    plan.arrays.push_back(*std::move(array));
    auto result = call.allocate(call.operand_shape(k));
    if (!result) return tl::unexpected(std::move(result.error()));
    call.results.push_back(*result);
    plan.results.push_back(*std::move(result));
    plan.widths.push_back(info(call.operand_shape(k)->element_type()).bytes);
    width += plan.widths.back();
  }
  if (shape->element_count() == 0) return {};
  int64_t levels = 1;
  for (int64_t run = 1; run < plan.size; run *= 2) ++levels;
  call.add(shape->element_count() / plan.size, plan.size * levels * (width + 16),
           [plan = std::move(plan), &workers = call.context.workers](int64_t begin, int64_t end) {
             RowSorter(plan, workers).sort(begin, end);
           });
  return {};
}

}  // namespace minihlo
