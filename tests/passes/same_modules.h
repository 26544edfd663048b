// Whether two modules are the same but for what a pass may choose.
#pragma once

#include <string>

#include "ir/module.h"

namespace minihlo::testing {

/// The module's text with names, channel ids and the order of pairs made alike: equal texts are
/// equal modules up to these. Changes the module accordingly.
std::string normalized_text(Module& module);

}  // namespace minihlo::testing
