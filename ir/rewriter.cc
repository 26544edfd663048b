#include "ir/rewriter.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_set>

namespace minihlo {

static_assert(std::endian::native == std::endian::little, "literals are little-endian");

Rewriter::Rewriter(Computation* computation)
    : computation_(computation),
      old_(computation->instructions().begin(), computation->instructions().end()) {
  list_.reserve(old_.size());
}

Instruction* Rewriter::next() {
  if (position_ > 0 && position_ <= old_.size()) list_.push_back(old_[position_ - 1]);
  if (position_ >= old_.size()) {
    position_ = old_.size() + 1;
    return nullptr;
  }
  return old_[position_++];
}

Instruction* Rewriter::emit(Opcode opcode, std::string_view base, const Shape* shape,
                            std::span<Instruction* const> operands,
                            std::span<const Attribute> attributes) {
  std::string_view name = module().unique_instruction_name(base);
  // The numbers that append() gives are unique until finish() numbers the list anew.
  Instruction* made = computation_->append(opcode, name, shape, operands, attributes);
  list_.push_back(made);
  changed_ = true;
  return made;
}

Instruction* Rewriter::constant(const Shape* shape, std::span<const std::byte> bytes) {
  Literal* literal = arena().make<Literal>();
  literal->shape = shape;
  // Who reads elements finds them aligned.
  const auto width = static_cast<size_t>(info(shape->element_type()).bytes);
  auto* place = static_cast<std::byte*>(arena().allocate(bytes.size(), width));
  std::copy(bytes.begin(), bytes.end(), place);
  literal->bytes = {place, bytes.size()};
  return emit(Opcode::kConstant, "constant", shape, {},
              {make_attribute(attr::literal_value, literal)});
}

Instruction* Rewriter::constant(ElementType type, std::span<const int64_t> values) {
  auto width = static_cast<size_t>(info(type).bytes);
  std::vector<std::byte> bytes(values.size() * width);
  for (size_t i = 0; i < values.size(); ++i) std::memcpy(&bytes[i * width], &values[i], width);
  int64_t size = static_cast<int64_t>(values.size());
  return constant(shapes().array(type, std::span(&size, 1)), bytes);
}

Instruction* Rewriter::constant(ElementType type, int64_t value) {
  auto width = static_cast<size_t>(info(type).bytes);
  return constant(shapes().scalar(type), std::as_bytes(std::span(&value, 1)).first(width));
}

Instruction* Rewriter::zero(ElementType type) {
  std::vector<std::byte> bytes(static_cast<size_t>(info(type).bytes));
  return constant(shapes().scalar(type), bytes);
}

Rewriter::Fate& Rewriter::fate(const Instruction* instruction) {
  if (fate_of_.size() <= instruction->number()) fate_of_.resize(instruction->number() + 1, -1);
  int32_t& place = fate_of_[instruction->number()];
  if (place < 0) {
    place = static_cast<int32_t>(fates_.size());
    fates_.emplace_back();
  }
  return fates_[static_cast<size_t>(place)];
}

const Rewriter::Fate* Rewriter::find_fate(const Instruction* instruction) const {
  if (fate_of_.size() <= instruction->number()) return nullptr;
  int32_t place = fate_of_[instruction->number()];
  return place < 0 ? nullptr : &fates_[static_cast<size_t>(place)];
}

void Rewriter::replace(Instruction* old, Instruction* by) { remove(old, std::span(&by, 1)); }

void Rewriter::remove(Instruction* old, std::span<Instruction* const> heirs) {
  Fate& its = fate(old);
  its.gone = true;
  its.heirs.assign(heirs.begin(), heirs.end());
  changed_ = true;
}

// What stands in the end where `instruction` stood as an operand.
Instruction* Rewriter::standing(Instruction* instruction) {
  Instruction* last = instruction;
  while (const Fate* its = find_fate(last)) {
    if (!its->gone || its->heirs.empty()) break;
    last = its->heirs.front();
  }
  // Shorten the way, so that a long row of replacements stays linear.
  while (instruction != last) {
    Fate& its = fate(instruction);
    instruction = its.heirs.front();
    if (its.heirs.size() == 1) its.heirs.front() = last;
  }
  return last;
}

void Rewriter::redirect(Instruction* instruction) {
  for (size_t i = 0; i < instruction->operand_count(); ++i) {
    Instruction* now = standing(instruction->operand(i));
    if (now != instruction->operand(i)) instruction->set_operand(i, now);
  }
  std::span<Instruction* const> before = instruction->get(attr::control_predecessors);
  auto is_gone = [&](const Instruction* one) {
    const Fate* its = find_fate(one);
    return its && its->gone;
  };
  if (std::none_of(before.begin(), before.end(), is_gone)) return;
  std::vector<Instruction*> after;
  for (Instruction* one : before) {
    if (!is_gone(one)) {
      after.push_back(one);
      continue;
    }
    for (Instruction* heir : find_fate(one)->heirs) after.push_back(standing(heir));
  }
  // Two that were replaced by one are named once, where the first stood.
  std::vector<Instruction*> once;
  std::unordered_set<const Instruction*> seen;
  for (Instruction* one : after) {
    if (seen.insert(one).second) once.push_back(one);
  }
  if (once.empty()) {
    instruction->erase(AttributeId::control_predecessors);
  } else {
    instruction->set(attr::control_predecessors, arena().copy(once));
  }
}

void Rewriter::finish() {
  while (next()) continue;
  if (!changed_) return;
  std::erase_if(list_, [&](const Instruction* instruction) {
    const Fate* its = find_fate(instruction);
    return its && its->gone;
  });
  for (Instruction* instruction : list_) redirect(instruction);
  if (computation_->root()) computation_->set_root(standing(computation_->root()));
  computation_->set_instructions(std::move(list_));
}

}  // namespace minihlo
