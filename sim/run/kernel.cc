#include "sim/run/kernel.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "ir/past_cache.h"
#include "ir/semantics/movement.h"
#include "ir/semantics/strided_copy.h"
#include "sim/run/kernels/dot.h"
#include "sim/walk.h"

namespace minihlo {

tl::expected<Buffer, Stop> allocate_for(const Instruction& instruction, RunContext& context,
                                        int64_t bytes) {
  auto buffer = context.pool->allocate(bytes, instruction.name());
  return buffer ? buffer : context.pool->allocate(bytes, instruction_place(instruction));
}

tl::expected<Buffer, Stop> KernelCall::allocate(int64_t bytes) {
  return allocate_for(instruction, context, bytes);
}

tl::expected<Buffer, Stop> KernelCall::allocate_over(const Shape* shape,
                                                     std::span<const size_t> candidates) {
  for (size_t i : candidates) {
    if (!writable[i] || operands[i].size() != shape->byte_count()) continue;
    return operands[i];
  }
  return allocate(shape);
}

tl::expected<Buffer, Stop> KernelCall::dense(const Buffer& buffer, const Shape* shape) {
  if (!buffer.is_splat()) return buffer;
  auto result = allocate(shape);
  if (!result) return result;
  int64_t width = info(shape->element_type()).bytes;
  std::byte* to = result->mutable_data();
  Work work{shape->element_count(), width, [&](int64_t begin, int64_t end) {
              StridedCopy copy;
              copy.result_offset = begin;
              copy.axes = {{end - begin, 1, 0}};
              copy_strided(copy, buffer.data(), to, width);
            }};
  if (auto stop = context.workers.run({&work, 1})) return tl::unexpected(*std::move(stop));
  return result;
}

void KernelCall::add(int64_t count, int64_t cost, std::function<void(int64_t, int64_t)> body) {
  if (count == 0) return;
  if (stages.empty()) stages.emplace_back();
  stages.back().push_back({count, std::max<int64_t>(1, cost), std::move(body)});
}

namespace {

// Copies of fewer bytes than this are done several at a time.
constexpr int64_t kSmallCopy = 16384;

int64_t element_count(const StridedCopy& copy) {
  int64_t count = 1;
  for (const StridedCopy::Axis& axis : copy.axes) count *= axis.size;
  return count;
}

// A copy in parts: pieces of the outermost axis and, where another one steps farther through the
// operand, of that one as well, so that a part has whole tiles of both.
class CopyParts {
 public:
  CopyParts(const StridedCopy& copy, int64_t bytes) : copy_(copy) {
    constexpr int64_t kTiles = 64, kPartBytes = int64_t{1} << 18;
    auto stride = [&](size_t i) { return std::abs(copy.axes[i].operand_stride); };
    for (size_t i = 1; i < copy.axes.size(); ++i) {
      if (stride(i) > stride(other_)) other_ = i;
    }
    if (other_ == 0 || stride(0) == 0) {
      other_ = 0;
    } else {
      const int64_t row_bytes = std::max<int64_t>(1, bytes / size(0) / size(other_));
      outer_step_ = kTiles;
      other_step_ = std::max(kTiles, kPartBytes / kTiles / row_bytes / kTiles * kTiles);
      other_parts_ = (size(other_) + other_step_ - 1) / other_step_;
    }
  }

  int64_t count() const { return (size(0) + outer_step_ - 1) / outer_step_ * other_parts_; }
  StridedCopy part(int64_t number) const {
    StridedCopy part = copy_;
    cut(part, 0, number / other_parts_ * outer_step_, outer_step_);
    if (other_ != 0) cut(part, other_, number % other_parts_ * other_step_, other_step_);
    return part;
  }
  /// Parts [begin, end), which lie side by side where there is one axis to cut.
  template <class Copy>
  void for_each(int64_t begin, int64_t end, const Copy& copy) const {
    if (other_ == 0) {
      StridedCopy part = copy_;
      cut(part, 0, begin, end - begin);
      return copy(part);
    }
    for (int64_t i = begin; i < end; ++i) copy(part(i));
  }

 private:
  int64_t size(size_t axis) const { return copy_.axes[axis].size; }
  static void cut(StridedCopy& copy, size_t i, int64_t begin, int64_t size) {
    StridedCopy::Axis& axis = copy.axes[i];
    copy.result_offset += begin * axis.result_stride;
    copy.operand_offset += begin * axis.operand_stride;
    axis.size = std::min(size, axis.size - begin);
  }

  StridedCopy copy_;
  size_t other_ = 0;
  int64_t outer_step_ = 1, other_step_ = 1, other_parts_ = 1;
};

// Copies that together fill rows of the result, each a part of every row: those of a concatenate or
// a pad along a short axis. Each alone would leave most lines of the result in part to the others,
// so that a few rows at a time are put together before they are written past the cache.
struct RowCopies {
  int64_t rows, row_elements, first_row;
  std::vector<CopyTask> tasks;
};

constexpr int64_t kShortPart = 1024;     // bytes of a part, on average: longer ones do well alone
constexpr int64_t kLongestRow = 16384;   // bytes
constexpr int64_t kRowsTogether = 4096;  // bytes of rows that are put together, of one at least

// Takes such copies out of `copies`.
std::vector<RowCopies> take_row_copies(std::vector<CopyTask>& copies, int64_t width) {
  std::map<std::array<int64_t, 3>, RowCopies> groups;
  for (CopyTask& task : copies) {
    const StridedCopy::Axis axis =
        task.copy.axes.empty() ? StridedCopy::Axis{1, 1, 0} : task.copy.axes[0];
    const int64_t first_row = task.copy.result_offset / axis.result_stride;
    RowCopies& group = groups[{axis.size, axis.result_stride, first_row}];
    group.rows = axis.size;
    group.row_elements = axis.result_stride;
    group.first_row = first_row;
    group.tasks.push_back(std::move(task));
  }
  std::vector<RowCopies> taken;
  copies.clear();
  for (auto& [key, group] : groups) {
    int64_t count = 0;
    for (const CopyTask& task : group.tasks) count += element_count(task.copy);
    if (group.tasks.size() > 1 && count == group.rows * group.row_elements &&
        group.row_elements * width <= kLongestRow &&
        group.row_elements * width <= kShortPart * static_cast<int64_t>(group.tasks.size())) {
      taken.push_back(std::move(group));
    } else {
      std::ranges::move(group.tasks, std::back_inserter(copies));
    }
  }
  return taken;
}

void copy_rows(const RowCopies& rows, std::byte* result, int64_t width, int64_t begin,
               int64_t end) {
  // Words that are written across the end of a page take hundreds of cycles.
  alignas(kRowsTogether) std::byte together[kLongestRow];
  const int64_t row_bytes = rows.row_elements * width,
                at_once = std::max<int64_t>(1, kRowsTogether / row_bytes);
  for (int64_t row = begin; row < end; row += at_once) {
    const int64_t count = std::min(at_once, end - row);
    for (const CopyTask& task : rows.tasks) {
      StridedCopy copy = task.copy;
      copy.result_offset %= rows.row_elements;
      copy.operand_offset += row * copy.axes[0].operand_stride;
      copy.axes[0].size = count;
      copy_strided(copy, task.from.data(), together, width);
    }
    copy_past_cache(together, result + (rows.first_row + row) * row_bytes, count * row_bytes);
  }
  finish_past_cache();
}

}  // namespace

void add_copies(KernelCall& call, std::vector<CopyTask> copies, const Buffer& result,
                int64_t width) {
  std::vector<CopyTask> small;
  int64_t small_cost = 0;
  std::byte* to = Buffer(result).mutable_data();
  const bool past_cache = result.size() >= kPastCache;
  for (CopyTask& task : copies) {
    if (!task.from.is_splat()) continue;
    task.copy.operand_offset = 0;
    for (StridedCopy::Axis& axis : task.copy.axes) axis.operand_stride = 0;
  }
  if (past_cache && copies.size() > 1) {
    for (RowCopies& rows : take_row_copies(copies, width)) {
      const int64_t count = rows.rows, cost = rows.row_elements * width;
      call.add(count, cost,
               [rows = std::move(rows), to, result, width](int64_t begin, int64_t end) {
                 copy_rows(rows, to, width, begin, end);
               });
    }
  }
  for (CopyTask& task : copies) {
    int64_t bytes = element_count(task.copy) * width;
    if (bytes < kSmallCopy || task.copy.axes.empty()) {
      small_cost += bytes + 64;
      small.push_back(std::move(task));
      continue;
    }
    const CopyParts parts(task.copy, bytes);
    call.add(parts.count(), bytes / parts.count(),
             [parts, from = std::move(task.from), to, result, width, past_cache](int64_t begin,
                                                                                 int64_t end) {
               parts.for_each(begin, end, [&](const StridedCopy& part) {
                 const auto copy = past_cache ? copy_strided_past_cache : copy_strided;
                 copy(part, from.data(), to, width);
               });
             });
  }
  if (small.empty()) return;
  auto count = static_cast<int64_t>(small.size());
  call.add(count, small_cost / count,
           [small = std::move(small), to, result, width](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) {
               const CopyTask& task = small[static_cast<size_t>(i)];
               copy_strided(task.copy, task.from.data(), to, width);
             }
           });
}

int64_t integer_at(const Buffer& buffer, ElementType type, int64_t i) {
  return decode_integer(type,
                        buffer.data() + (buffer.is_splat() ? 0 : i) * int64_t{info(type).bytes});
}

Kernel kernel_of(const Instruction& instruction) {
  if (is_movement(instruction)) return movement_kernel;
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return constant_kernel;
    case Opcode::kIota:
      return iota_kernel;
    case Opcode::kGetDimensionSize:
      return get_dimension_size_kernel;
    case Opcode::kMap:
      return map_kernel;
    case Opcode::kBitcast:
      return bitcast_kernel;
    case Opcode::kBitcastConvert:
      return bitcast_convert_kernel;
    case Opcode::kReduce:
      return reduce_kernel;
    case Opcode::kReduceWindow:
      return reduce_window_kernel;
    case Opcode::kSelectAndScatter:
      return select_and_scatter_kernel;
    case Opcode::kDot:
      return dot_kernel;
    case Opcode::kScaledDot:
      return scaled_dot_kernel;
    case Opcode::kConvolution:
      return convolution_kernel;
    case Opcode::kGather:
      return gather_kernel;
    case Opcode::kScatter:
      return scatter_kernel;
    case Opcode::kSort:
      return sort_kernel;
    case Opcode::kTopK:
      return topk_kernel;
    case Opcode::kRngBitGenerator:
      return rng_bit_generator_kernel;
    case Opcode::kScan:
      return scan_kernel;
    case Opcode::kFft:
      return fft_kernel;
    case Opcode::kCholesky:
      return cholesky_kernel;
    case Opcode::kTriangularSolve:
      return triangular_solve_kernel;
    case Opcode::kBatchNormTraining:
      return batch_norm_training_kernel;
    case Opcode::kBatchNormInference:
      return batch_norm_inference_kernel;
    case Opcode::kBatchNormGrad:
      return batch_norm_grad_kernel;
    case Opcode::kRaggedDot:
      return ragged_dot_kernel;
    case Opcode::kCustomCall:
      return custom_call_kernel;
    default:
      return info(instruction.opcode()).family == Family::kElementwise ? elementwise_kernel
                                                                       : nullptr;
  }
}

}  // namespace minihlo
