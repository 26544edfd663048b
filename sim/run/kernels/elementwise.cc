// Elementwise opcodes and map: the same place of each operand gives that place of the result.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "ir/past_cache.h"
#include "ir/semantics/elementwise.h"
#include "sim/run/kernel.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

// Elements of one operand.
struct Source {
  Buffer buffer;
  int64_t step = 0;   // elements from one to the next: 0 or 1
  int64_t width = 0;  // bytes of an element
};

using Sources = std::array<Source, ElementwiseOp::kMaxOperands>;

// Elements [begin, end) of the result.
void apply(const ElementwiseOp& op, const Sources& sources, int64_t begin, int64_t end,
           std::byte* result) {
  const std::byte* data[ElementwiseOp::kMaxOperands] = {};
  int64_t steps[ElementwiseOp::kMaxOperands] = {};
  for (int i = 0; i < op.operand_count(); ++i) {
    const Source& source = sources[static_cast<size_t>(i)];
    data[i] = source.buffer.data() + begin * source.step * source.width;
    steps[i] = source.step;
  }
  op(end - begin, data, steps, result);
}

// The same, written past the cache. `first` is the place of element 0.
void apply_past_cache(const ElementwiseOp& op, const Sources& sources, int64_t begin, int64_t end,
                      std::byte* first) {
  constexpr int64_t kBlockBytes = 4096;
  alignas(kCacheLine) std::byte block[kBlockBytes];
  const int64_t width = info(op.result_type()).bytes, block_size = kBlockBytes / width;
  for (int64_t next = begin; begin < end; begin = next) {
    next = std::min(end, begin + block_size - begin % block_size);
    apply(op, sources, begin, next, block);
    copy_past_cache(block, first + begin * width, (next - begin) * width);
  }
  finish_past_cache();
}

}  // namespace

KernelResult elementwise_kernel(KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  auto op = elementwise_op(call.instruction);
  if (!op) {
    return tl::unexpected(
        Stop::unsupported(std::string(to_string(call.instruction.opcode())),
                          fmt::format("{}: {}", instruction_place(call.instruction), op.error())));
  }
  const size_t count = call.operands.size();
  Sources sources;
  bool all_splat = true;
  size_t candidates[ElementwiseOp::kMaxOperands];
  size_t candidate_count = 0;
  int64_t cost = info(shape->element_type()).bytes;
  for (size_t i = 0; i < count; ++i) {
    const Buffer& operand = call.operands[i];
    // The predicate of a select and the bounds of a clamp may be scalars.
    bool whole = call.operand_shape(i)->element_count() == shape->element_count();
    bool single = operand.is_splat() || !whole;
    all_splat = all_splat && single;
    sources[i] = {operand, single ? 0 : 1, info(call.operand_shape(i)->element_type()).bytes};
    cost += single ? 0 : sources[i].width;
    if (!single && sources[i].width == info(shape->element_type()).bytes) {
      candidates[candidate_count++] = i;
    }
  }
  const int64_t width = info(shape->element_type()).bytes;
  if (all_splat && shape->element_count() > 1) {
    auto result = call.allocate(width);
    if (!result) return tl::unexpected(std::move(result.error()));
    apply(*op, sources, 0, 1, result->mutable_data());
    call.results.push_back(result->as_splat());
    return {};
  }
  auto result = call.allocate_over(shape, {candidates, candidate_count});
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  std::byte* to = result->mutable_data();
  // Memory that is taken over is in the cache when it is written.
  const bool past_cache =
      result->size() >= kPastCache && std::ranges::none_of(sources, [&](const Source& source) {
        return source.buffer.is_set() && source.buffer == *result;
      });
  call.add(
      shape->element_count(), cost,
      [op = *op, sources = std::move(sources), to, width, past_cache](int64_t begin, int64_t end) {
        if (past_cache) return apply_past_cache(op, sources, begin, end, to);
        apply(op, sources, begin, end, to + begin * width);
      });
  return {};
}

KernelResult map_kernel(KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  std::vector<ElementType> takes;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    takes.push_back(call.operand_shape(i)->element_type());
  }
  auto program = call.context.programs.of(*call.instruction.get(attr::to_apply), std::move(takes),
                                          {shape->element_type()});
  if (!program) return tl::unexpected(std::move(program.error()));
  auto result = call.allocate(shape);
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  int64_t cost = info(shape->element_type()).bytes;
  std::vector<int64_t> steps, widths;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    steps.push_back(call.operands[i].is_splat() ? 0 : 1);
    widths.push_back(info(call.operand_shape(i)->element_type()).bytes);
    cost += widths.back();
  }
  int64_t width = info(shape->element_type()).bytes;
  std::byte* to = result->mutable_data();
  call.add(shape->element_count(), cost,
           [=, program = *program, operands = call.operands](int64_t begin, int64_t end) {
             std::vector<const std::byte*> data;
             for (size_t i = 0; i < operands.size(); ++i) {
               data.push_back(operands[i].data() + begin * steps[i] * widths[i]);
             }
             std::byte* out = to + begin * width;
             program->run(end - begin, data.data(), steps.data(), &out);
           });
  return {};
}

}  // namespace minihlo
