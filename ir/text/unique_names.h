// Names of instructions and computations as XLA has them in text.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"
#include "ir/text_repeats.h"

namespace minihlo::internal {

/// Finds out whether UniqueNames would change any of many names.
class NameClashes {
 public:
  void add(std::string_view name) { add(name, hash_text_wide(name)); }
  /// `hash` is hash_text_wide(name).
  void add(std::string_view name, uint64_t hash);
  bool any() const { return changes_ || names_.any(); }

 private:
  TextRepeats names_;
  bool changes_ = false;
};

/// Changes names of instructions, and of computations, that clash. Those that come first keep
/// theirs, the others get their stem with a free number (UniqueNames). Computations keep the order
/// of the module, but for `first`, which comes before all where it is given. `of_instructions` has
/// the names of all instructions.
void make_names_unique(Module& module, const NameClashes& of_instructions,
                       Computation* first = nullptr);
void make_names_unique(Module& module);

/// What XLA makes of a name that it does not allow: a type's name, or one that starts with __ but
/// not with __xla_. Other names are returned as they are.
std::string allowed_name(std::string_view name);
bool is_allowed_name(std::string_view name);

}  // namespace minihlo::internal
