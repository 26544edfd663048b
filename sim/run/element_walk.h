// Computations on elements that are more than steps on scalars: run by the walker, element by
// element.
#pragma once

#include <tl/expected.hpp>

#include "ir/module.h"
#include "sim/run/kernel.h"
#include "sim/walk.h"

namespace minihlo {

/// A program that walks `computation`, whose parameters and results are scalars, for each set of
/// elements: it may contain loops, conditionals, arrays, contractions and reductions. Slow, and on
/// one thread at a time. Stop::kUnsupported for what differs between devices or has effects:
/// collectives, ids, random numbers, talk to the outside. What goes wrong while it runs ends the
/// work of `context`, which must outlive the program. `depth`: computations on elements around it.
tl::expected<ScalarProgram, Stop> walked_program(const Computation& computation,
                                                 RunContext& context, const WalkLimits& limits,
                                                 int depth = 0);

}  // namespace minihlo
