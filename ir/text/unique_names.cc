#include "ir/text/unique_names.h"

#include "ir/element_type.h"
#include "ir/text/lexer.h"
#include "ir/unique_names.h"

namespace minihlo::internal {
namespace {

// What UniqueNames takes for the same name as `name`, which ends with a digit: a.0 is a. Sets
// `changes` where it would be printed in another way than it is written.
std::string_view without_zero(std::string_view name, bool& changes) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (digits < 2 || name[digits - 1] != '.' || name[digits] != '0') return name;
  if (digits + 1 == name.size()) return name.substr(0, digits - 1);
  changes = true;  // the number is printed without its leading zeros
  return name;
}

}  // namespace

void NameClashes::add(std::string_view name, uint64_t hash) {
  if (!name.empty() && name.back() >= '0' && name.back() <= '9') {
    const std::string_view plain = without_zero(name, changes_);
    if (plain.size() < name.size()) hash = hash_text_wide(plain);
  }
  names_.add_hash(hash);
}

void make_names_unique(Module& module) {
  NameClashes of_instructions;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      of_instructions.add(instruction->name());
    }
  }
  make_names_unique(module, of_instructions);
}

void make_names_unique(Module& module, const NameClashes& of_instructions, Computation* first) {
  NameClashes of_computations;
  for (const Computation* computation : module.computations()) {
    of_computations.add(computation->name());
  }
  if (of_computations.any()) {
    UniqueNames names(module.arena());
    if (first) first->set_name(names.claim(first->name()));
    for (Computation* computation : module.computations()) {
      if (computation != first) computation->set_name(names.claim(computation->name()));
    }
  }
  if (of_instructions.any()) {
    UniqueNames names(module.arena());
    for (const Computation* computation : module.computations()) {
      for (Instruction* instruction : computation->instructions()) {
        instruction->set_name(names.claim(instruction->name()));
      }
    }
  }
}

bool is_allowed_name(std::string_view name) {
  // Types are among the reserved words.
  return (!is_reserved_word(name) && !name.starts_with("__")) || allowed_name(name) == name;
}

std::string allowed_name(std::string_view name) {
  std::string allowed(name);
  if (name.starts_with("__") && !name.starts_with("__xla_")) allowed[0] = 'a';
  if (element_type_from(name) || name == "token" || name == "opaque") allowed += '_';
  return allowed;
}

}  // namespace minihlo::internal
