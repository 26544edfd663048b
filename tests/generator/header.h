// What stands before the first computation: attributes of the module, and stack frames.
#pragma once

#include "tests/generator/builder.h"

namespace minihlo::generator {

/// The name, the mesh, and the stack frames, which metadata refers to.
void start_header(Builder& b);
/// What is about the entry computation, which must be there.
void finish_header(Builder& b);

}  // namespace minihlo::generator
