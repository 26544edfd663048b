// Movement: the boxes of ir/semantics/movement.h as copies between buffers.
#include <fmt/format.h>

#include "ir/semantics/movement.h"
#include "sim/run/kernel.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

// Start indices: scalars, or one vector of them.
std::vector<int64_t> start_indices(const KernelCall& call, size_t moved) {
  std::vector<int64_t> starts;
  for (size_t i = moved; i < call.operands.size(); ++i) {
    const Shape* shape = call.operand_shape(i);
    for (int64_t k = 0; k < shape->element_count(); ++k) {
      starts.push_back(integer_at(call.operands[i], shape->element_type(), k));
    }
  }
  return starts;
}

// Whether all of the result comes from one element that stands for all of operand 0.
bool is_all_splat(const KernelCall& call, const std::vector<Movement>& movements) {
  const Buffer& operand = call.operands[0];
  if (!operand.is_splat() && call.operand_shape(0)->element_count() != 1) return false;
  for (const Movement& movement : movements) {
    for (const Box& box : movement.boxes) {
      if (box.operand != 0) return false;
    }
  }
  return true;
}

// A dynamic-update-slice into the memory of its first operand leaves what is not updated alone.
bool update_in_place(KernelCall& call, const Movement& movement) {
  if (call.instruction.opcode() != Opcode::kDynamicUpdateSlice || !call.writable[0]) return false;
  call.results.push_back(call.operands[0]);
  Movement update = movement;
  std::erase_if(update.boxes, [](const Box& box) { return box.operand == 0; });
  int64_t width = info(call.instruction.shape()->element_type()).bytes;
  add_movement(call, update, call.results[0], width, {},
               [&](const Box& box) { return call.operands[static_cast<size_t>(box.operand)]; });
  return true;
}

}  // namespace

KernelResult movement_kernel(KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  MovementFacts facts;
  size_t moved = moved_operand_count(call.instruction);
  if (moved < call.operands.size()) facts.starts = start_indices(call, moved);
  auto movements = movement(call.instruction, facts);
  if (!movements) {
    return tl::unexpected(Stop::unsupported(
        std::string(to_string(call.instruction.opcode())),
        fmt::format("{}: {}", instruction_place(call.instruction), movements.error())));
  }
  std::erase_if(*movements, [](const Movement& step) { return step.is_identity(); });
  if (movements->empty()) {
    call.results.push_back(call.operands[0]);
    return {};
  }
  if (is_all_splat(call, *movements) && shape->element_count() > 0) {
    const Buffer& operand = call.operands[0];
    call.results.push_back(shape->element_count() == 1 ? operand.as_dense() : operand.as_splat());
    return {};
  }
  if (update_in_place(call, movements->front())) return {};
  const int64_t width = info(shape->element_type()).bytes;
  Buffer previous;
  for (const Movement& step : *movements) {
    auto result = call.allocate(shape);
    if (!result) return tl::unexpected(std::move(result.error()));
    add_movement(call, step, *result, width, {}, [&](const Box& box) {
      return previous.is_set() ? previous : call.operands[static_cast<size_t>(box.operand)];
    });
    call.next_stage();
    previous = *std::move(result);
  }
  call.results.push_back(std::move(previous));
  return {};
}

}  // namespace minihlo
