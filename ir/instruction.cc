#include "ir/instruction.h"

#include <algorithm>
#include <array>

#include "ir/module.h"

namespace minihlo {

bool Instruction::has_dynamic_shape() const {
  return shape_->is_dynamic() ||
         std::any_of(operands().begin(), operands().end(),
                     [](const Instruction* operand) { return operand->shape()->is_dynamic(); });
}

void Instruction::set(const Attribute& attribute) {
  for (size_t i = 0; i < attribute_count_; ++i) {
    if (attributes_[i].id != attribute.id) continue;
    // Clones share arrays of attributes, so a change goes into a fresh one.
    std::span<Attribute> fresh = parent_->module()->arena().array<Attribute>(attribute_count_);
    std::copy_n(attributes_, attribute_count_, fresh.begin());
    fresh[i] = attribute;
    attributes_ = fresh.data();
    return;
  }
  std::span<Attribute> longer = parent_->module()->arena().array<Attribute>(attribute_count_ + 1);
  std::copy_n(attributes_, attribute_count_, longer.begin());
  longer.back() = attribute;
  attributes_ = longer.data();
  ++attribute_count_;
}

void Instruction::erase(AttributeId id) {
  if (!find_attribute(attributes(), id)) return;
  std::span<Attribute> fresh = parent_->module()->arena().array<Attribute>(attribute_count_);
  auto end = std::copy_if(attributes_, attributes_ + attribute_count_, fresh.begin(),
                          [&](const Attribute& attribute) { return attribute.id != id; });
  attributes_ = fresh.data();
  attribute_count_ = static_cast<uint16_t>(end - fresh.begin());
}

namespace {

constexpr bool is_computation_kind(AttributeKind kind) {
  return kind == AttributeKind::kComputation || kind == AttributeKind::kComputations;
}

// By key: this is asked of every attribute of a module, and often.
constexpr bool kNamesComputations[] = {
#define ATTRIBUTE(id, text, kind) is_computation_kind(AttributeKind::kind),
#define WORD_ATTRIBUTE(id, text, type, words) false,
#include "ir/attributes.def"
#undef ATTRIBUTE
#undef WORD_ATTRIBUTE
};

bool names_computations(const Attribute& attribute) {
  return kNamesComputations[static_cast<size_t>(attribute.id)];
}

// Whether attributes that the opcode takes name computations: this is asked of every instruction.
bool may_call(Opcode opcode) {
  static const auto may = [] {
    std::array<bool, kOpcodeCount> row{};
    for (size_t i = 0; i < row.size(); ++i) {
      for (const AttributeUse& use : info(static_cast<Opcode>(i)).attributes) {
        row[i] = row[i] || kNamesComputations[static_cast<size_t>(use.id)];
      }
    }
    return row;
  }();
  return may[static_cast<size_t>(opcode)];
}

}  // namespace

bool Instruction::calls_computations() const {
  return may_call(opcode_) &&
         std::any_of(attributes().begin(), attributes().end(), names_computations);
}

std::vector<Computation*> Instruction::called_computations() const {
  std::vector<Computation*> result;
  auto add = [&](const Attribute& key) {
    if (info(key.id).kind == AttributeKind::kComputation) {
      result.push_back(attribute_value<Computation*>(key));
    } else {
      auto list = attribute_value<std::span<Computation* const>>(key);
      result.insert(result.end(), list.begin(), list.end());
    }
  };
  // Most have one key of computations.
  const auto first = std::find_if(attributes().begin(), attributes().end(), names_computations);
  if (first == attributes().end()) return result;
  if (std::none_of(first + 1, attributes().end(), names_computations)) {
    add(*first);
    return result;
  }
  std::vector<const Attribute*> keys;
  for (const Attribute& attribute : attributes()) {
    if (names_computations(attribute)) keys.push_back(&attribute);
  }
  // attributes.def lists the keys of computations in XLA's order.
  std::sort(keys.begin(), keys.end(),
            [](const Attribute* a, const Attribute* b) { return a->id < b->id; });
  for (const Attribute* key : keys) add(*key);
  return result;
}

bool is_total_order(std::span<const Attribute> attributes, ElementType operands) {
  return is_float(operands) &&
         (find(attributes, attr::comparison_type) == ComparisonType::kTotalOrder ||
          find(attributes, attr::comparison_order) == ComparisonOrder::kTotal);
}

ComparisonType Instruction::comparison_type() const {
  if (is_total_order(attributes(), operand(0)->shape()->element_type())) {
    return ComparisonType::kTotalOrder;
  }
  return find(attr::comparison_type).value_or(default_comparison_type());
}

ComparisonType Instruction::default_comparison_type() const {
  switch (info(operand(0)->shape()->element_type()).kind) {
    case ElementKind::kFloat:
    case ElementKind::kComplex:
      return ComparisonType::kFloat;
    case ElementKind::kSigned:
      return ComparisonType::kSigned;
    default:
      return ComparisonType::kUnsigned;
  }
}

}  // namespace minihlo
