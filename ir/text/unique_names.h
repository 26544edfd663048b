// Names of instructions and computations as XLA has them in text.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace minihlo::internal {

/// Changes names of instructions, and of computations, that clash. Those that come first keep
/// theirs, the others get their stem with a free number (UniqueNames). Computations keep the order
/// of the module, but for `first`, which comes before all where it is given.
void make_names_unique(Module& module, Computation* first = nullptr);

/// What XLA makes of a name that it does not allow: a type's name, or one that starts with __ but
/// not with __xla_. Other names are returned as they are.
std::string allowed_name(std::string_view name);
bool is_allowed_name(std::string_view name);

}  // namespace minihlo::internal
