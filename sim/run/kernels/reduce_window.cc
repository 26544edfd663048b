// reduce-window: each result element is init combined with those elements of its window that are
// inside the operand, in row-major order of the window. Padding and holes contribute nothing.
#include <algorithm>
#include <cstring>

#include "sim/run/kernel.h"
#include "sim/run/kernels/accumulation.h"
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

}  // namespace

KernelResult reduce_window_kernel(KernelCall& call) {
  const size_t n = call.operands.size() / 2;
  auto reducer = accumulation(call);
  if (!reducer) return tl::unexpected(std::move(reducer.error()));
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
