// reduce-window: each result element is init combined with those elements of its window that are
// inside the operand, in row-major order of the window. Padding and holes contribute nothing.
// Running folds, such as JAX's cumsum, go in blocks where they are long.
#include <algorithm>
#include <cstring>
#include <optional>

#include "sim/run/kernel.h"
#include "sim/run/kernels/accumulation.h"
#include "sim/run/kernels/running_fold.h"
#include "sim/run/kernels/windows.h"

namespace minihlo {
namespace {

constexpr int64_t kBlock = 512;  // result elements that are worked on together

struct Plan {
  Windows windows;
  Accumulation accumulation;
  std::vector<Buffer> arrays, results;
};

void reduce_block(const Plan& plan, int64_t begin, int64_t end, Workers& workers) {
  const size_t n = plan.arrays.size(), rank = plan.windows.rank();
  const auto count = static_cast<size_t>(end - begin);
  std::vector<int64_t> outputs(count * rank), position(rank);
  for (size_t j = 0; j < count; ++j) {
    plan.windows.output_index(begin + static_cast<int64_t>(j), outputs.data() + j * rank);
  }
  std::vector<std::vector<std::byte>> sums(n), terms(n);
  std::vector<std::byte*> totals(n), sum_data(n);
  std::vector<const std::byte*> parameters(2 * n);
  std::vector<int64_t> steps(2 * n, 1);
  for (size_t k = 0; k < n; ++k) {
    const auto width = static_cast<size_t>(plan.accumulation.accumulator_widths[k]);
    sums[k].resize(count * width);
    terms[k].resize(count * static_cast<size_t>(plan.accumulation.widths[k]));
    totals[k] = Buffer(plan.results[k]).mutable_data() + static_cast<size_t>(begin) * width;
    for (size_t j = 0; j < count; ++j) {
      std::memcpy(totals[k] + j * width, plan.accumulation.inits[k].data(), width);
    }
    sum_data[k] = sums[k].data();
    parameters[k] = sums[k].data();
    parameters[n + k] = terms[k].data();
  }
  std::vector<size_t> meeting;
  std::vector<int64_t> elements;
  const int64_t positions = plan.windows.position_count();
  for (int64_t p = 0; p < positions; ++p) {
    if (p % kBlock == kBlock - 1 && workers.is_late()) return;
    plan.windows.position_index(p, position.data());
    meeting.clear();
    elements.clear();
    for (size_t j = 0; j < count; ++j) {
      int64_t element = plan.windows.element(outputs.data() + j * rank, position.data());
      if (element < 0) continue;
      meeting.push_back(j);
      elements.push_back(element);
    }
    if (meeting.empty()) continue;
    for (size_t k = 0; k < n; ++k) {
      const auto width = static_cast<size_t>(plan.accumulation.widths[k]);
      const auto sum_width = static_cast<size_t>(plan.accumulation.accumulator_widths[k]);
      const std::byte* from = plan.arrays[k].data();
      const bool splat = plan.arrays[k].is_splat();
      for (size_t i = 0; i < meeting.size(); ++i) {
        std::memcpy(sums[k].data() + i * sum_width, totals[k] + meeting[i] * sum_width, sum_width);
        std::memcpy(terms[k].data() + i * width,
                    from + (splat ? 0 : static_cast<size_t>(elements[i]) * width), width);
      }
    }
    plan.accumulation.program->run(static_cast<int64_t>(meeting.size()), parameters.data(),
                                   steps.data(), sum_data.data());
    for (size_t k = 0; k < n; ++k) {
      const auto width = static_cast<size_t>(plan.accumulation.accumulator_widths[k]);
      for (size_t i = 0; i < meeting.size(); ++i) {
        std::memcpy(totals[k] + meeting[i] * width, sums[k].data() + i * width, width);
      }
    }
  }
}

// A fold along one axis, forwards or backwards, that keeps what it has after every element.
struct RunningFold {
  size_t axis;
  bool backwards;
  bool has_init;  // the result of no elements is there, too, before or behind all others
};

bool is_one_element(const WindowDimension& dim) {
  return dim.size == 1 && dim.stride == 1 && dim.padding_low == 0 && dim.padding_high == 0 &&
         dim.base_dilation == 1;
}

// The one axis whose windows are all that is in front of (or behind) an element, if that is what
// the windows are.
std::optional<RunningFold> running_fold(std::span<const WindowDimension> window,
                                        std::span<const int64_t> dims) {
  std::optional<RunningFold> found;
  for (size_t i = 0; i < window.size(); ++i) {
    const WindowDimension& dim = window[i];
    if (is_one_element(dim)) continue;
    const bool backwards = dim.padding_low == 0;
    const int64_t padding = backwards ? dim.padding_high : dim.padding_low;
    const int64_t other = backwards ? dim.padding_low : dim.padding_high;
    if (found || dim.size != dims[i] || other != 0 || dim.stride != 1 || dim.base_dilation != 1 ||
        dim.window_dilation != 1 || (padding != dim.size - 1 && padding != dim.size)) {
      return std::nullopt;
    }
    found = {i, backwards, padding == dim.size};
  }
  if (!found || dims[found->axis] <= kRunningBlockExtent) return std::nullopt;
  return found;
}

KernelResult add_running_fold(KernelCall& call, const RunningFold& running,
                              RunningFoldKernel kernel, const Accumulation& accumulation) {
  auto operand = call.dense(0);
  if (!operand) return tl::unexpected(std::move(operand.error()));
  auto result = call.allocate(call.instruction.shape());
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  std::span<const int64_t> dims = call.operand_shape(0)->dims();
  const int64_t width = accumulation.widths[0], size = dims[running.axis];
  const int64_t stride = row_major_strides(dims)[running.axis];
  const int64_t result_size = size + (running.has_init ? 1 : 0);
  const int64_t lines = call.operand_shape(0)->element_count() / size;
  call.add(lines, 2 * size * width,
           [=, init = accumulation.inits[0], from = *std::move(operand), to = *std::move(result),
            &workers = call.context.workers](int64_t begin, int64_t end) {
             for (int64_t line = begin; line < end && !workers.is_late(); ++line) {
               const int64_t outer = line / stride, inner = line % stride;
               const std::byte* elements = from.data() + (outer * size * stride + inner) * width;
               std::byte* results =
                   Buffer(to).mutable_data() + (outer * result_size * stride + inner) * width;
               std::byte* rest = results;
               if (running.has_init) {
                 std::byte* place = results + (running.backwards ? size * stride * width : 0);
                 std::memcpy(place, init.data(), static_cast<size_t>(width));
                 if (!running.backwards) rest += stride * width;
               }
               kernel(size, stride, running.backwards, init.data(), elements, rest);
             }
           });
  return {};
}

}  // namespace

KernelResult reduce_window_kernel(KernelCall& call) {
  const size_t n = call.operands.size() / 2;
  auto reducer = accumulation(call);
  if (!reducer) return tl::unexpected(std::move(reducer.error()));
  const std::optional<Opcode> opcode = reducer->program->single_opcode();
  if (n == 1 && opcode) {
    auto running = running_fold(call.instruction.get(attr::window), call.operand_shape(0)->dims());
    RunningFoldKernel kernel = running_fold_kernel(*opcode, call.operand_shape(0)->element_type());
    if (running && kernel) return add_running_fold(call, *running, kernel, *reducer);
  }
  const Shape* shape = call.instruction.shape();
  const Shape* result_shape = shape->is_tuple() ? shape->element(0) : shape;
  Plan plan{Windows(call.instruction.get(attr::window), call.operand_shape(0)->dims(),
                    result_shape->dims()),
            *std::move(reducer),
            {},
            {}};
  int64_t cost = 0;
  for (size_t k = 0; k < n; ++k) {
    plan.arrays.push_back(call.operands[k]);
    auto result =
        call.allocate(result_shape->element_count() * plan.accumulation.accumulator_widths[k]);
    if (!result) return tl::unexpected(std::move(result.error()));
    call.results.push_back(*result);
    plan.results.push_back(*std::move(result));
    cost += 4 * plan.accumulation.widths[k];
  }
  const int64_t count = result_shape->element_count();
  const int64_t positions = std::min(plan.windows.position_count(), int64_t{1} << 32);
  call.add(
      (count + kBlock - 1) / kBlock, cost * positions * kBlock,
      [plan = std::move(plan), count, &workers = call.context.workers](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          reduce_block(plan, i * kBlock, std::min(count, (i + 1) * kBlock), workers);
        }
      });
  return {};
}

}  // namespace minihlo
