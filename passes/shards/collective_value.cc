#include "passes/shards/collective_value.h"

#include <algorithm>

#include "ir/semantics/collective_forms.h"

namespace minihlo {
namespace {

// A longer way is not followed: what many values share would be walked for each.
constexpr size_t kMaxViews = 16;

bool is_row_major(const Shape* shape) {
  if (!shape->layout()) return true;
  if (!shape->layout()->has_only_order()) return false;
  std::span<const int64_t> order = shape->layout()->minor_to_major;
  return std::is_sorted(order.rbegin(), order.rend());
}

}  // namespace

bool is_view(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kCopy:
    case Opcode::kReshape:
      return instruction.shape()->is_array() && !instruction.has_dynamic_shape();
    case Opcode::kBitcast: {
      const Shape* from = instruction.operand(0)->shape();
      const Shape* to = instruction.shape();
      return from->is_array() && to->is_array() && !instruction.has_dynamic_shape() &&
             from->element_type() == to->element_type() && is_row_major(from) && is_row_major(to);
    }
    default:
      return false;
  }
}

std::vector<Instruction*> CollectiveValue::way() const {
  std::vector<Instruction*> way = {collective};
  if (done) way.push_back(done);
  if (result != way.back()) way.push_back(result);
  way.insert(way.end(), views.begin(), views.end());
  return way;
}

std::optional<CollectiveValue> find_collective_value(Instruction* value, Opcode opcode) {
  CollectiveValue found;
  Instruction* at = value;
  while (is_view(*at) && found.views.size() < kMaxViews) {
    found.views.push_back(at);
    at = at->operand(0);
  }
  std::reverse(found.views.begin(), found.views.end());
  found.result = at;
  if (!at->shape()->is_array()) return std::nullopt;
  if (at->opcode() == Opcode::kGetTupleElement) {
    found.index = static_cast<size_t>(at->get(attr::index));
    at = at->operand(0);
  }
  switch (at->opcode()) {
    case Opcode::kAllGatherDone:
    case Opcode::kAllReduceDone:
      found.done = at;
      at = at->operand(0);
      break;
    default:
      break;
  }
  const bool is_start = collective_opcode(at->opcode()) != at->opcode();
  if (collective_opcode(at->opcode()) != opcode || is_start != (found.done != nullptr)) {
    return std::nullopt;
  }
  if (found.index >= at->operand_count()) return std::nullopt;
  found.collective = at;
  return found;
}

}  // namespace minihlo
