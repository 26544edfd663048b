#include "ir/semantics/known_values.h"

#include <algorithm>
#include <limits>

#include "ir/numbers.h"

namespace minihlo {
namespace {

// Of one value on one device, and of all that one object keeps.
constexpr int64_t kMaxValueBytes = int64_t{16} << 20;
constexpr int64_t kMaxBytes = int64_t{256} << 20;

}  // namespace

KnownValues::KnownValues(const Module& module, const Mesh& mesh)
    : mesh_(mesh), bytes_left_(kMaxBytes), only_caller_(module.computations().size()) {
  std::vector<bool> called(only_caller_.size());
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      for (const Computation* callee : instruction->called_computations()) {
        const bool is_call =
            instruction->opcode() == Opcode::kCall || instruction->opcode() == Opcode::kFusion;
        only_caller_[callee->number()] =
            is_call && !called[callee->number()] ? instruction : nullptr;
        called[callee->number()] = true;
      }
    }
  }
}

const Instruction* KnownValues::same_value(const Instruction& instruction) const {
  switch (instruction.opcode()) {
    case Opcode::kParameter: {
      const uint32_t computation = instruction.parent()->number();
      const Instruction* caller =
          computation < only_caller_.size() ? only_caller_[computation] : nullptr;
      const auto number = static_cast<size_t>(instruction.get(attr::parameter_number));
      return caller && number < caller->operand_count() ? caller->operand(number) : nullptr;
    }
    case Opcode::kCall:
    case Opcode::kFusion: {
      const std::vector<Computation*> called = instruction.called_computations();
      return called.size() == 1 && only_caller_[called[0]->number()] == &instruction
                 ? called[0]->root()
                 : nullptr;
    }
    case Opcode::kGetTupleElement: {
      const Instruction* tuple = instruction.operand(0);
      while (tuple && tuple->opcode() != Opcode::kTuple) tuple = same_value(*tuple);
      const auto index = static_cast<size_t>(instruction.get(attr::index));
      return tuple && index < tuple->operand_count() ? tuple->operand(index) : nullptr;
    }
    default:
      return nullptr;
  }
}

const KnownValues::Known* KnownValues::known(const Instruction& wanted) {
  std::vector<const Instruction*> stack = {&wanted};
  while (!stack.empty()) {
    const Instruction* top = stack.back();
    if (values_.contains(top)) {
      stack.pop_back();
      continue;
    }
    const Instruction* same = same_value(*top);
    if (same) {
      auto found = values_.find(same);
      if (found == values_.end()) {
        stack.push_back(same);
        continue;
      }
      Known copy = found->second;
      bytes_left_ -= static_cast<int64_t>(copy.bytes.size());
      values_.emplace(top, std::move(copy));
      stack.pop_back();
      continue;
    }
    const size_t before = stack.size();
    if (can_evaluate(*top)) {
      for (const Instruction* operand : top->operands()) {
        auto found = values_.find(operand);
        if (found == values_.end()) {
          stack.push_back(operand);
        } else if (!found->second.is_known) {
          stack.resize(before);
          break;
        }
      }
    }
    if (stack.size() > before) continue;
    Known value = compute(*top);
    bytes_left_ -= static_cast<int64_t>(value.bytes.size());
    values_.emplace(top, std::move(value));
    stack.pop_back();
  }
  const Known& result = values_.find(&wanted)->second;
  return result.is_known ? &result : nullptr;
}

KnownValues::Known KnownValues::id(const Instruction& instruction) const {
  Known result{true, false, {}};
  const bool is_replica = instruction.opcode() == Opcode::kReplicaId;
  for (int64_t device = 0; device < mesh_.device_count(); ++device) {
    auto id = static_cast<uint32_t>(is_replica ? mesh_.replica(device) : mesh_.partition(device));
    const auto* bytes = reinterpret_cast<const std::byte*>(&id);
    result.bytes.insert(result.bytes.end(), bytes, bytes + sizeof(id));
  }
  result.is_uniform = (is_replica ? mesh_.replicas : mesh_.partitions) == 1;
  if (result.is_uniform) result.bytes.resize(sizeof(uint32_t));
  return result;
}

KnownValues::Known KnownValues::compute(const Instruction& instruction) {
  if (info(instruction.opcode()).family == Family::kIdentity) return id(instruction);
  if (!can_evaluate(instruction)) return {};
  Known result{true, true, {}};
  std::vector<const Known*> operands;
  for (const Instruction* operand : instruction.operands()) {
    auto found = values_.find(operand);
    if (found == values_.end() || !found->second.is_known) return {};
    operands.push_back(&found->second);
    result.is_uniform &= found->second.is_uniform;
  }
  const int64_t devices = result.is_uniform ? 1 : mesh_.device_count();
  const int64_t most = std::min(kMaxValueBytes, bytes_left_ / devices);
  std::vector<std::span<const std::byte>> spans(operands.size());
  for (int64_t device = 0; device < devices; ++device) {
    for (size_t i = 0; i < operands.size(); ++i) {
      const Known& operand = *operands[i];
      const size_t size =
          operand.bytes.size() / static_cast<size_t>(operand.is_uniform ? 1 : mesh_.device_count());
      spans[i] = std::span(operand.bytes)
                     .subspan(operand.is_uniform ? 0 : static_cast<size_t>(device) * size, size);
    }
    auto bytes = evaluate(instruction, spans, most);
    if (!bytes) return {};
    result.bytes.insert(result.bytes.end(), bytes->begin(), bytes->end());
  }
  return result;
}

bool KnownValues::is_uniform(const Instruction& instruction) {
  const Known* value = known(instruction);
  return value && value->is_uniform;
}

std::optional<std::span<const std::byte>> KnownValues::bytes(const Instruction& instruction,
                                                             int64_t device) {
  const Known* value = known(instruction);
  if (!value) return std::nullopt;
  if (value->is_uniform) return value->bytes;
  const size_t size = value->bytes.size() / static_cast<size_t>(mesh_.device_count());
  return std::span(value->bytes).subspan(static_cast<size_t>(device) * size, size);
}

std::optional<int64_t> KnownValues::integer(const Instruction& instruction, int64_t device,
                                            int64_t index) {
  if (!instruction.shape()->is_array()) return std::nullopt;
  const ElementType type = instruction.shape()->element_type();
  if (!is_integer(type) && type != ElementType::PRED) return std::nullopt;
  auto elements = bytes(instruction, device);
  if (!elements) return std::nullopt;
  const std::byte* element = elements->data() + index * int64_t{info(type).bytes};
  const int64_t value = decode_integer(type, element);
  // What does not fit is decoded to the largest that does.
  const bool fits = type != ElementType::U64 || value < std::numeric_limits<int64_t>::max();
  return fits ? std::optional(value) : std::nullopt;
}

}  // namespace minihlo
