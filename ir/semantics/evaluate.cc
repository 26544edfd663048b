#include "ir/semantics/evaluate.h"

#include <algorithm>
#include <cstring>

#include "ir/literal.h"
#include "ir/numbers.h"
#include "ir/row_major.h"
#include "ir/semantics/movement.h"

namespace minihlo {
namespace {

using Operands = std::span<const std::span<const std::byte>>;

bool is_static_array(const Shape* shape) { return shape->is_array() && !shape->is_dynamic(); }

// Bytes of a result, or nothing where it is no static array or too large.
std::optional<ElementBytesList> room(const Shape* shape, int64_t max_bytes) {
  if (!is_static_array(shape) || shape->byte_count() > max_bytes) return std::nullopt;
  return ElementBytesList(static_cast<size_t>(shape->byte_count()));
}

std::optional<ElementBytesList> iota(const Instruction& instruction, int64_t max_bytes) {
  auto result = room(instruction.shape(), max_bytes);
  auto op = iota_op(instruction);
  if (!result || !op) return std::nullopt;
  fill_iota(instruction, *op, 0, instruction.shape()->element_count(), result->data());
  return result;
}

std::optional<ElementBytesList> elementwise(const Instruction& instruction, Operands operands,
                                            int64_t max_bytes) {
  auto result = room(instruction.shape(), max_bytes);
  auto op = elementwise_op(instruction);
  if (!result || !op) return std::nullopt;
  const int64_t count = instruction.shape()->element_count();
  const std::byte* data[ElementwiseOp::kMaxOperands] = {};
  int64_t steps[ElementwiseOp::kMaxOperands] = {};
  for (size_t i = 0; i < operands.size(); ++i) {
    data[i] = operands[i].data();
    // The predicate of a select and the bounds of a clamp may be scalars.
    steps[i] = instruction.operand(i)->shape()->element_count() == count ? 1 : 0;
  }
  if (count > 0) (*op)(count, data, steps, result->data());
  return result;
}

std::optional<ElementBytesList> moved(const Instruction& instruction, Operands operands,
                                      int64_t max_bytes) {
  auto result = room(instruction.shape(), max_bytes);
  if (!result) return std::nullopt;
  MovementFacts facts;
  const size_t moved_count = moved_operand_count(instruction);
  for (size_t i = moved_count; i < operands.size(); ++i) {
    if (!instruction.operand(i)->shape()->is_scalar()) return std::nullopt;
    const ElementType type = instruction.operand(i)->shape()->element_type();
    facts.starts.push_back(decode_integer(type, operands[i].data()));
  }
  auto movements = movement(instruction, facts);
  if (!movements) return std::nullopt;
  const int64_t width = info(instruction.shape()->element_type()).bytes;
  std::vector<std::span<const std::byte>> sources(operands.begin(), operands.begin() + moved_count);
  ElementBytesList before;
  for (const Movement& one : *movements) {
    ElementBytesList after(static_cast<size_t>(element_count(one.result_dims) * width));
    for (const Box& box : one.boxes) {
      if (box.is_empty()) continue;
      if (box.operand == Box::kZero) {
        clear_strided(strided_copy(box, one.result_dims, one.result_dims), after.data(), width);
        continue;
      }
      copy_strided(strided_copy(box, one.result_dims, one.dims_of(box)),
                   sources[static_cast<size_t>(box.operand)].data(), after.data(), width);
    }
    before = std::move(after);
    sources = {before};
  }
  if (movements->empty()) before.assign(sources[0].begin(), sources[0].end());
  if (before.size() != result->size()) return std::nullopt;
  return before;
}

}  // namespace

std::optional<ElementBytesList> literal_bytes(const Literal& literal, int64_t max_bytes) {
  if (!literal.shape->is_array() || !literal.is_known()) return std::nullopt;
  auto result = room(literal.shape, max_bytes);
  if (!result || result->empty()) return result;
  const auto width = static_cast<size_t>(info(literal.shape->element_type()).bytes);
  for (size_t at = 0; at < result->size(); at += width) {
    std::memcpy(result->data() + at,
                literal.bytes.data() + (literal.form == Literal::Form::kSplat ? 0 : at), width);
  }
  return result;
}

tl::expected<ElementwiseOp, std::string> iota_op(const Instruction& iota) {
  const ElementType from[] = {ElementType::S64};
  return elementwise_op(
      ElementwiseSignature{Opcode::kConvert, from, iota.shape()->element_type(), {}});
}

void fill_iota(const Instruction& iota, const ElementwiseOp& op, int64_t begin, int64_t end,
               std::byte* to) {
  constexpr int64_t kBlock = 256;
  const Shape* shape = iota.shape();
  const int64_t dimension = iota.get(attr::iota_dimension);
  const int64_t extent = shape->dim(dimension);
  const int64_t width = info(shape->element_type()).bytes;
  // Each index is repeated `inner` times; the whole row repeats for the dimensions before it.
  int64_t inner = 1;
  for (int64_t i = dimension + 1; i < shape->rank(); ++i) inner *= shape->dim(i);
  int64_t values[kBlock];
  for (int64_t at = begin; at < end; at += kBlock) {
    const int64_t size = std::min(kBlock, end - at);
    for (int64_t i = 0; i < size; ++i) values[i] = (at + i) / inner % extent;
    const auto* operand = reinterpret_cast<const std::byte*>(values);
    const int64_t step = 1;
    op(size, &operand, &step, to + (at - begin) * width);
  }
}

bool can_evaluate(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kConstant:
    case Opcode::kIota:
    case Opcode::kGetDimensionSize:
      return true;
    default:
      return info(instruction.opcode()).family == Family::kElementwise || is_movement(instruction);
  }
}

std::optional<ElementBytesList> evaluate(const Instruction& instruction, Operands operands,
                                         int64_t max_bytes) {
  for (const Instruction* operand : instruction.operands()) {
    if (!is_static_array(operand->shape())) return std::nullopt;
  }
  if (!can_evaluate(instruction)) return std::nullopt;
  switch (instruction.opcode()) {
    case Opcode::kConstant:
      return literal_bytes(*instruction.get(attr::literal_value), max_bytes);
    case Opcode::kIota:
      return iota(instruction, max_bytes);
    case Opcode::kGetDimensionSize: {
      auto result = room(instruction.shape(), max_bytes);
      const auto size = static_cast<int32_t>(
          instruction.operand(0)->shape()->dim(instruction.get(attr::dimensions)[0]));
      if (result) std::memcpy(result->data(), &size, sizeof(size));
      return result;
    }
    default:
      break;
  }
  if (is_movement(instruction)) return moved(instruction, operands, max_bytes);
  return elementwise(instruction, operands, max_bytes);
}

}  // namespace minihlo
