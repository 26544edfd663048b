#include "ir/instruction.h"

#include <algorithm>

#include "ir/module.h"

namespace minihlo {

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

bool Instruction::calls_computations() const {
  for (const Attribute& attribute : attributes()) {
    AttributeKind kind = info(attribute.id).kind;
    if (kind == AttributeKind::kComputation || kind == AttributeKind::kComputations) return true;
  }
  return false;
}

std::vector<Computation*> Instruction::called_computations() const {
  std::vector<Computation*> result;
  auto add = [&](AttributeId id) {
    const Attribute* attribute = find_attribute(attributes(), id);
    if (!attribute) return;
    if (info(id).kind == AttributeKind::kComputation) {
      result.push_back(attribute_value<Computation*>(*attribute));
    } else {
      for (Computation* called : attribute_value<std::span<Computation* const>>(*attribute)) {
        result.push_back(called);
      }
    }
  };
  // attributes.def lists the keys of computations in XLA's order.
  for (AttributeId id :
       {AttributeId::to_apply, AttributeId::body, AttributeId::condition, AttributeId::select,
        AttributeId::scatter, AttributeId::true_computation, AttributeId::false_computation,
        AttributeId::branch_computations, AttributeId::calls, AttributeId::called_computations}) {
    add(id);
  }
  return result;
}

ComparisonType Instruction::comparison_type() const {
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
