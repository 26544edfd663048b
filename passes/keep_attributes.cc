#include "passes/keep_attributes.h"

#include <algorithm>
#include <vector>

#include "ir/module.h"

namespace minihlo {

void keep_common_attributes(const Instruction& from, Instruction* to) {
  for (const AttributeUse& use : common_attributes()) {
    if (use.id == AttributeId::control_predecessors || use.id == AttributeId::backend_config) {
      continue;
    }
    if (const Attribute* attribute = find_attribute(from.attributes(), use.id)) {
      to->set(*attribute);
    }
  }
}

void keep_description(const Instruction& from, Instruction* to) {
  for (AttributeId id : {AttributeId::metadata, AttributeId::frontend_attributes}) {
    const Attribute* attribute = find_attribute(from.attributes(), id);
    if (attribute && !find_attribute(to->attributes(), id)) to->set(*attribute);
  }
}

void keep_control_predecessors(std::span<Instruction* const> from, Instruction* to) {
  std::span<Instruction* const> own = to->get(attr::control_predecessors);
  std::vector<Instruction*> all(own.begin(), own.end());
  for (const Instruction* one : from) {
    for (Instruction* before : one->get(attr::control_predecessors)) {
      if (std::ranges::find(from, before) != from.end()) continue;
      if (std::ranges::find(all, before) == all.end()) all.push_back(before);
    }
  }
  if (all.size() == own.size()) return;
  to->set(attr::control_predecessors, to->parent()->module()->arena().copy(all));
}

}  // namespace minihlo
