// reduce: each result element is f(...f(f(init, x0), x1)..., xn), over the reduced indices in
// row-major order; sums and products of floats along more than kBlockExtent elements go block by
// block first. Work goes over many result elements at a time, never across the sum.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "sim/run/kernel.h"
#include "sim/run/kernels/accumulation.h"
#include "sim/run/kernels/axes.h"
#include "sim/run/kernels/fold.h"
#include "sim/run/kernels/reduce_blocks.h"

namespace minihlo {
namespace {

constexpr int64_t kBlock = 2048;  // result elements that are worked on together

struct Plan {
  std::vector<StridedAxis> kept;
  std::vector<StridedAxis> reduced;
  Accumulation accumulation;
  std::vector<Buffer> arrays, results;
  std::optional<Fold> fold;
};

bool lies_together(const std::vector<StridedAxis>& axes) {
  return !axes.empty() && axes.back().stride == 1;
}

// One operand, elements to be folded or results contiguous in memory.
void fold_results(const Plan& plan, int64_t begin, int64_t end, Workers& workers) {
  const int64_t width = plan.accumulation.widths[0];
  std::byte* to = Buffer(plan.results[0]).mutable_data();
  const std::byte* from = plan.arrays[0].data();
  for (int64_t i = begin; i < end; ++i) {
    std::memcpy(to + i * width, plan.accumulation.inits[0].data(), static_cast<size_t>(width));
  }
  std::span<const StridedAxis> outer(plan.reduced.data(), plan.reduced.size() - 1);
  const StridedAxis folded = plan.reduced.back();
  const int64_t outer_count = count_of(outer);
  // Lines of one innermost kept axis lie at equal distances.
  const StridedAxis last = plan.kept.empty() ? StridedAxis{1, 0} : plan.kept.back();
  constexpr int64_t kAtOnce = int64_t{1} << 16;
  OffsetWalk kept(plan.kept, begin);
  for (int64_t i = begin; i < end;) {
    const int64_t lines = std::min(end - i, last.size - i % last.size);
    OffsetWalk reduced(outer);
    for (int64_t k = 0; k < outer_count; ++k, reduced.next()) {
      for (int64_t done = 0; done < folded.size; done += kAtOnce) {
        const int64_t count = std::min(kAtOnce, folded.size - done);
        const int64_t offset = kept.offset() + reduced.offset() + done * folded.stride;
        if (folded.stride == 1) {
          plan.fold->rows(lines, count, last.stride, false, from + offset * width, to + i * width);
        } else {
          plan.fold->columns(lines, count, folded.stride, false, from + offset * width,
                             to + i * width);
        }
        if (count == kAtOnce && workers.is_late()) return;
      }
    }
    i += lines;
    if (i < end) kept = OffsetWalk(plan.kept, i);
  }
}

void reduce_block(const Plan& plan, int64_t begin, int64_t end, Workers& workers) {
  const size_t n = plan.arrays.size();
  const int64_t count = end - begin;
  std::vector<const std::byte*> parameters(2 * n);
  std::vector<int64_t> steps(2 * n, 1);
  std::vector<std::byte*> outputs(n);
  std::vector<std::vector<std::byte>> gathered(n);
  for (size_t k = 0; k < n; ++k) {
    const int64_t width = plan.accumulation.accumulator_widths[k];
    outputs[k] = Buffer(plan.results[k]).mutable_data() + begin * width;
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(outputs[k] + i * width, plan.accumulation.inits[k].data(),
                  static_cast<size_t>(width));
    }
    parameters[k] = outputs[k];
    if (plan.arrays[k].is_splat()) steps[n + k] = 0;
  }
  std::vector<int64_t> offsets;
  OffsetWalk kept(plan.kept, begin);
  for (int64_t i = 0; i < count; ++i, kept.next()) offsets.push_back(kept.offset());
  bool contiguous = true;
  for (int64_t i = 1; i < count; ++i) contiguous &= offsets[i] == offsets[0] + i;
  const int64_t total = count_of(plan.reduced);
  OffsetWalk reduced(plan.reduced);
  for (int64_t r = 0; r < total; ++r, reduced.next()) {
    if (r % kBlock == kBlock - 1 && workers.is_late()) return;
    for (size_t k = 0; k < n; ++k) {
      const std::byte* from = plan.arrays[k].data();
      const int64_t width = plan.accumulation.widths[k];
      if (plan.arrays[k].is_splat()) {
        parameters[n + k] = from;
      } else if (contiguous) {
        parameters[n + k] = from + (offsets[0] + reduced.offset()) * width;
      } else {
        gathered[k].resize(static_cast<size_t>(count * width));
        for (int64_t i = 0; i < count; ++i) {
          std::memcpy(gathered[k].data() + i * width,
                      from + (offsets[i] + reduced.offset()) * width, static_cast<size_t>(width));
        }
        parameters[n + k] = gathered[k].data();
      }
    }
    plan.accumulation.program->run(count, parameters.data(), steps.data(), outputs.data());
  }
}

// What is combined in blocks, whatever the blocks, has the same bits only where rounding is none.
bool rounds(std::optional<Opcode> reducer, ElementType type) {
  return (reducer == Opcode::kAdd || reducer == Opcode::kMultiply) &&
         (is_float(type) || is_complex(type));
}

}  // namespace

KernelResult reduce_kernel(KernelCall& call) {
  const size_t n = call.operands.size() / 2;
  auto reducer = accumulation(call);
  if (!reducer) return tl::unexpected(std::move(reducer.error()));
  const Shape* shape = call.operand_shape(0);
  BlockedArray array{call.operands[0], {shape->dims().begin(), shape->dims().end()}, {}};
  array.is_reduced.assign(array.dims.size(), false);
  for (int64_t dim : call.instruction.get(attr::dimensions)) {
    array.is_reduced[static_cast<size_t>(dim)] = true;
  }
  const ScalarProgram& program = *reducer->program;
  const std::optional<Opcode> opcode = program.single_opcode();
  std::optional<Fold> fold;
  if (n == 1 && opcode) fold.emplace(program);
  if (fold && rounds(opcode, shape->element_type()) && has_blocks(array)) {
    auto dense = call.dense(0);
    if (!dense) return tl::unexpected(std::move(dense.error()));
    array.data = *std::move(dense);
    while (has_blocks(array)) {
      auto blocks = add_blocks(call, array, info(shape->element_type()).bytes, *fold);
      if (!blocks) return tl::unexpected(std::move(blocks.error()));
      array = *std::move(blocks);
    }
  }
  const std::vector<int64_t> strides = row_major_strides(array.dims);
  std::vector<StridedAxis> kept, reduced;
  for (size_t i = 0; i < strides.size(); ++i) {
    (array.is_reduced[i] ? reduced : kept).push_back({array.dims[i], strides[i]});
  }
  Plan plan{merge_axes(kept), merge_axes(reduced), *std::move(reducer), {}, {}, std::nullopt};
  int64_t cost = 0;
  const int64_t result_count = count_of(plan.kept);
  for (size_t k = 0; k < n; ++k) {
    plan.arrays.push_back(k == 0 ? array.data : call.operands[k]);
    auto result = call.allocate(result_count * plan.accumulation.accumulator_widths[k]);
    if (!result) return tl::unexpected(std::move(result.error()));
    call.results.push_back(*result);
    plan.results.push_back(*std::move(result));
    cost += plan.accumulation.widths[k];
  }
  cost *= std::max<int64_t>(1, std::min(count_of(plan.reduced), int64_t{1} << 32));
  Workers& workers = call.context.workers;
  const bool by_rows = lies_together(plan.reduced), by_columns = lies_together(plan.kept);
  if (!plan.reduced.empty() && (by_rows || by_columns) && !plan.arrays[0].is_splat()) {
    plan.fold = fold;
  }
  if (plan.fold && by_rows) {
    call.add(result_count, cost, [plan = std::move(plan), &workers](int64_t begin, int64_t end) {
      fold_results(plan, begin, end, workers);
    });
    return {};
  }
  call.add((result_count + kBlock - 1) / kBlock, cost * kBlock,
           [plan = std::move(plan), result_count, &workers](int64_t begin, int64_t end) {
             for (int64_t i = begin; i < end; ++i) {
               const int64_t last = std::min(result_count, (i + 1) * kBlock);
               if (plan.fold) {
                 fold_results(plan, i * kBlock, last, workers);
               } else {
                 reduce_block(plan, i * kBlock, last, workers);
               }
             }
           });
  return {};
}

}  // namespace minihlo
