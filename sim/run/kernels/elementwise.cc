// Elementwise opcodes and map: the same place of each operand gives that place of the result.
#include <algorithm>

#include <fmt/format.h>

#include "ir/semantics/elementwise.h"
#include "sim/run/kernel.h"
#include "sim/walk.h"

namespace minihlo {

KernelResult elementwise_kernel(KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  auto op = elementwise_op(call.instruction);
  if (!op) {
    return tl::unexpected(
        Stop::unsupported(std::string(to_string(call.instruction.opcode())),
                          fmt::format("{}: {}", instruction_place(call.instruction), op.error())));
  }
  const size_t count = call.operands.size();
  struct Sources {
    Buffer keep[ElementwiseOp::kMaxOperands];
    const std::byte* data[ElementwiseOp::kMaxOperands] = {};
    int64_t steps[ElementwiseOp::kMaxOperands] = {};
    int64_t widths[ElementwiseOp::kMaxOperands] = {};
  } sources;
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
    sources.keep[i] = operand;
    sources.data[i] = operand.data();
    sources.steps[i] = single ? 0 : 1;
    sources.widths[i] = info(call.operand_shape(i)->element_type()).bytes;
    cost += single ? 0 : sources.widths[i];
    if (!single && sources.widths[i] == info(shape->element_type()).bytes) {
      candidates[candidate_count++] = i;
    }
  }
  const int64_t width = info(shape->element_type()).bytes;
  if (all_splat && shape->element_count() > 1) {
    auto result = call.allocate(width);
    if (!result) return tl::unexpected(std::move(result.error()));
    (*op)(1, sources.data, sources.steps, result->mutable_data());
    call.results.push_back(result->as_splat());
    return {};
  }
  auto result = call.allocate_over(shape, {candidates, candidate_count});
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*result);
  std::byte* to = result->mutable_data();
  call.add(shape->element_count(), cost,
           [op = *op, sources = std::move(sources), count, to, width](int64_t begin, int64_t end) {
             const std::byte* data[ElementwiseOp::kMaxOperands] = {};
             for (size_t i = 0; i < count; ++i) {
               data[i] = sources.data[i] + begin * sources.steps[i] * sources.widths[i];
             }
             op(end - begin, data, sources.steps, to + begin * width);
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
