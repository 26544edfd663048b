// sort: a stable merge sort with any comparator, which asks as std::stable_sort of GNU's library
// does, and so XLA's CPU backend: what a comparator that is no order gives (less than, with NaN) is
// the same. Runs are sorted and merged side by side, so that the comparator sees many pairs at a
// time. Where the comparator asks for the order of keys, these are made numbers, and sorted as
// such, with the same results.
#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"
#include "sim/run/kernels/keyed_sort.h"
#include "sim/run/kernels/long_sort.h"
#include "sim/run/kernels/sort_keys.h"

namespace minihlo {
namespace {

constexpr size_t kBatch = 1024;  // runs that are sorted or merged side by side

struct Plan {
  const ScalarProgram* before;
  std::vector<Buffer> arrays, results;
  std::vector<int64_t> widths;
  int64_t size;    // of a row: elements that are sorted
  int64_t stride;  // from one element of a row to the next
  Buffer orders;   // for each row two lists of `size` element numbers

  /// The place of a row's first element. Rows are numbered over the dimensions before the sorted
  /// one, then those behind it.
  int64_t base(int64_t row) const { return row / stride * stride * size + row % stride; }
};

template <size_t width, class Number>
void place_elements(const std::byte* from, std::byte* to, int64_t count, int64_t stride,
                    const Number* order) {
  struct Element {
    std::byte bytes[width];
  };
  const auto* elements = reinterpret_cast<const Element*>(from);
  auto* results = reinterpret_cast<Element*>(to);
  for (int64_t i = 0; i < count; ++i) {
    results[i * stride] = elements[static_cast<int64_t>(order[i]) * stride];
  }
}

// Puts the elements that come as number `begin` to `end` of a row where they belong.
template <class Number>
void place(const Plan& plan, int64_t row, const Number* order, int64_t begin, int64_t end,
           LateCheck& is_late) {
  constexpr int64_t kBlock = int64_t{1} << 16;  // elements between looks at the clock
  for (size_t k = 0; k < plan.arrays.size(); ++k) {
    const int64_t width = plan.widths[k];
    const auto place_block = width == 1   ? place_elements<1, Number>
                             : width == 2 ? place_elements<2, Number>
                             : width == 4 ? place_elements<4, Number>
                             : width == 8 ? place_elements<8, Number>
                                          : place_elements<16, Number>;
    const std::byte* from = plan.arrays[k].data() + plan.base(row) * width;
    std::byte* to = Buffer(plan.results[k]).mutable_data() + plan.base(row) * width;
    for (int64_t at = begin; at < end; at += kBlock) {
      const int64_t count = std::min(kBlock, end - at);
      if (is_late(count * 16)) return;
      place_block(from, to + at * plan.stride * width, count, plan.stride, order + at);
    }
  }
}

constexpr int64_t kRun = 7;  // elements that are sorted by insertion

// Two neighbouring runs on their way into one, from the front or from the back.
struct Merge {
  const int64_t *left, *left_end, *right, *right_end;
  int64_t* out;  // where the next one goes, or behind it
  int64_t base;  // of the row's first element
  bool backwards;

  bool is_done() const { return left == left_end || right == right_end; }
  /// The pair that is compared next.
  int64_t first() const { return backwards ? right_end[-1] : *right; }
  int64_t second() const { return backwards ? left_end[-1] : *left; }
  void take(bool is_before) {
    if (backwards) {
      *--out = is_before ? *--left_end : *--right_end;
    } else {
      *out++ = is_before ? *right++ : *left++;
    }
  }
  void take_rest() {
    if (backwards) out -= (left_end - left) + (right_end - right);
    std::copy(right, right_end, std::copy(left, left_end, out));
  }
};

// A few elements that are sorted in place: each goes in front of all where it is before the first
// one, else to where none in front of it comes behind it.
struct Insertion {
  int64_t* run;
  int64_t size, base;
  int64_t next = 1;   // the element that is placed
  int64_t place = 0;  // where it is held against: the first one, or the one in front of `place`
  int64_t element = 0;

  bool is_done() const { return next >= size; }
  int64_t first() const { return place == 0 ? run[next] : element; }
  int64_t second() const { return place == 0 ? run[0] : run[place - 1]; }
  void take(bool is_before) {
    if (place == 0) {
      element = run[next];
      if (is_before) {
        std::copy_backward(run, run + next, run + next + 1);
        run[0] = element;
        ++next;
      } else {
        place = next;
      }
    } else if (is_before) {
      run[place] = run[place - 1];
      --place;
    } else {
      run[place] = element;
      place = 0;
      ++next;
    }
  }
  void take_rest() {}
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
    const int64_t n = plan_.size, half = (n + 1) / 2;
    for (int64_t row = begin; row < end; ++row) {
      std::iota(order(row, 0), order(row, 0) + n, 0);
      for (int64_t at = 0; at < n;) {
        const int64_t size = std::min(kRun, (at < half ? half : n) - at);
        add(insertions_, {order(row, 0) + at, size, plan_.base(row)});
        at += size;
      }
    }
    work_off(insertions_);
    // Orders that are unfinished may hold anything, so that nothing may be looked up by them.
    int from = 0;
    for (int64_t run = kRun; run < half; run *= 2, from = 1 - from) {
      if (workers_.is_late()) return;
      for (int64_t row = begin; row < end; ++row) {
        merge_runs(row, from, 0, half, run);
        merge_runs(row, from, half, n, run);
      }
      work_off(merges_);
    }
    if (workers_.is_late()) return;
    if (n > 1) {
      for (int64_t row = begin; row < end; ++row) merge(row, from, 0, half, n, half > n - half);
      work_off(merges_);
      from = 1 - from;
    }
    if (workers_.is_late()) return;
    for (int64_t row = begin; row < end; ++row) place(plan_, row, order(row, from), 0, n, is_late_);
  }

 private:
  int64_t* order(int64_t row, int which) {
    return reinterpret_cast<int64_t*>(Buffer(plan_.orders).mutable_data()) +
           (row * 2 + which) * plan_.size;
  }

  void merge_runs(int64_t row, int from, int64_t begin, int64_t end, int64_t run) {
    for (int64_t at = begin; at < end; at += 2 * run) {
      merge(row, from, at, std::min(end, at + run), std::min(end, at + 2 * run), false);
    }
  }
  void merge(int64_t row, int from, int64_t begin, int64_t middle, int64_t end, bool backwards) {
    const int64_t* source = order(row, from);
    add(merges_, {source + begin, source + middle, source + middle, source + end,
                  order(row, 1 - from) + (backwards ? end : begin), plan_.base(row), backwards});
  }

  template <class Task>
  void add(std::vector<Task>& tasks, const Task& task) {
    tasks.push_back(task);
    if (tasks.size() == kBatch) work_off(tasks);
  }

  // Does the tasks, a comparison of each at a time.
  template <class Task>
  void work_off(std::vector<Task>& tasks) {
    for (;;) {
      std::erase_if(tasks, [](Task& task) {
        if (!task.is_done()) return false;
        task.take_rest();
        return true;
      });
      if (tasks.empty()) return;
      if (is_late_(static_cast<int64_t>(tasks.size() * 16))) return tasks.clear();
      for (size_t k = 0; k < plan_.arrays.size(); ++k) {
        const int64_t width = plan_.widths[k];
        const std::byte* from = plan_.arrays[k].data();
        for (size_t i = 0; i < tasks.size(); ++i) {
          const Task& task = tasks[i];
          auto at = [&](int64_t element) {
            return from + (task.base + element * plan_.stride) * width;
          };
          std::memcpy(gathered_[2 * k].data() + i * static_cast<size_t>(width), at(task.first()),
                      static_cast<size_t>(width));
          std::memcpy(gathered_[2 * k + 1].data() + i * static_cast<size_t>(width),
                      at(task.second()), static_cast<size_t>(width));
        }
      }
      // The later one goes first only where it must: equal elements keep their order.
      std::byte* result = keep_.data();
      plan_.before->run(static_cast<int64_t>(tasks.size()), parameters_.data(), steps_.data(),
                        &result);
      for (size_t i = 0; i < tasks.size(); ++i) tasks[i].take(keep_[i] != std::byte{0});
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
  std::vector<Insertion> insertions_;
};

std::vector<KeyNumbers> key_numbers(const SortKeys& keys) {
  std::vector<KeyNumbers> result;
  for (const SortKey& key : keys.keys) {
    result.push_back({nullptr, key.is_wide(), key.may_be_unordered()});
  }
  return result;
}

// The numbers of the keys of one row.
void choose_row(std::vector<KeyNumbers>& keys, const Plan& plan, std::span<const Buffer> numbers,
                int64_t row) {
  for (size_t k = 0; k < keys.size(); ++k) {
    const int64_t bytes = keys[k].is_wide ? sizeof(uint64_t) : sizeof(uint32_t);
    keys[k].first = numbers[k].data() + plan.base(row) * bytes;
  }
}

// Adds work that sorts one row behind the other, each in parts.
KernelResult add_long_rows(KernelCall& call, const Plan& plan, const SortKeys& keys,
                           const std::vector<Buffer>& numbers, int64_t rows) {
  std::vector<KeyNumbers> row_keys = key_numbers(keys);
  const int64_t bytes = keyed_sort_memory(row_keys, plan.size);
  auto memory = call.allocate(bytes + plan.size * int64_t{sizeof(uint32_t)});
  if (!memory) return tl::unexpected(std::move(memory.error()));
  auto* order = reinterpret_cast<uint32_t*>(memory->mutable_data() + bytes);
  for (int64_t row = 0; row < rows; ++row) {
    choose_row(row_keys, plan, numbers, row);
    add_long_sort(call, row_keys, keys.is_strict, plan.size, plan.stride, order,
                  memory->mutable_data());
    call.add(plan.size, 64,
             [plan, row, order, numbers, memory = *memory, &workers = call.context.workers](
                 int64_t begin, int64_t end) {
               LateCheck is_late(workers);
               place(plan, row, order, begin, end, is_late);
             });
    call.next_stage();
  }
  return {};
}

// Adds work that numbers the keys of all elements, then sorts the rows by them.
KernelResult add_keyed_sort(KernelCall& call, Plan plan, SortKeys keys) {
  const int64_t count = call.operand_shape(0)->element_count();
  std::vector<Buffer> numbers;
  for (const SortKey& key : keys.keys) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(count, key.number_bytes(), &bytes)) {
      bytes = std::numeric_limits<int64_t>::max();
    }
    auto buffer = call.allocate(bytes);
    if (!buffer) return tl::unexpected(std::move(buffer.error()));
    numbers.push_back(*std::move(buffer));
  }
  const auto shared = std::make_shared<const SortKeys>(std::move(keys));
  for (size_t k = 0; k < numbers.size(); ++k) {
    call.add(count, 32,
             [shared, k, arrays = plan.arrays, to = numbers[k]](int64_t begin, int64_t end) {
               std::vector<const std::byte*> operands;
               for (const Buffer& array : arrays) operands.push_back(array.data());
               shared->keys[k].number(operands, begin, end, Buffer(to).mutable_data());
             });
  }
  call.next_stage();
  // Many rows are shared out among threads whole.
  constexpr int64_t kManyRows = 8;
  const int64_t rows = count / plan.size;
  if (plan.size >= kLongRow && rows < kManyRows) {
    return add_long_rows(call, plan, *shared, numbers, rows);
  }
  auto sort_rows = [plan = std::move(plan), shared, numbers = std::move(numbers),
                    &instruction = call.instruction,
                    &context = call.context](int64_t begin, int64_t end) {
    std::vector<KeyNumbers> row_keys = key_numbers(*shared);
    const int64_t bytes = keyed_sort_memory(row_keys, plan.size);
    auto memory = allocate_for(instruction, context,
                               bytes + plan.size * static_cast<int64_t>(sizeof(uint32_t)));
    if (!memory) return context.workers.fail(std::move(memory.error()));
    auto* order = reinterpret_cast<uint32_t*>(memory->mutable_data() + bytes);
    LateCheck is_late(context.workers);
    for (int64_t row = begin; row < end && !is_late(plan.size * 4); ++row) {
      choose_row(row_keys, plan, numbers, row);
      keyed_sort(row_keys, shared->is_strict, plan.size, plan.stride, order, memory->mutable_data(),
                 is_late);
      place(plan, row, order, 0, plan.size, is_late);
    }
  };
  call.add(rows, plan.size * 64, std::move(sort_rows));
  return {};
}

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
  if (plan.size <= kMaxKeyedSize) {
    if (auto keys = sort_keys(*call.instruction.get(attr::to_apply))) {
      return add_keyed_sort(call, std::move(plan), *std::move(keys));
    }
  }
  int64_t order_bytes = 0;
  if (__builtin_mul_overflow(shape->element_count(), int64_t{2 * sizeof(int64_t)}, &order_bytes)) {
    order_bytes = std::numeric_limits<int64_t>::max();
  }
  auto orders = call.allocate(order_bytes);
  if (!orders) return tl::unexpected(std::move(orders.error()));
  plan.orders = *std::move(orders);
  int64_t levels = 1;
  for (int64_t run = 1; run < plan.size; run *= 2) ++levels;
  call.add(shape->element_count() / plan.size, plan.size * levels * (width + 16),
           [plan = std::move(plan), &workers = call.context.workers](int64_t begin, int64_t end) {
             RowSorter(plan, workers).sort(begin, end);
           });
  return {};
}

}  // namespace minihlo
