// How much memory a run will need: the module is walked with sizes for values.
#pragma once

#include <cstdint>

#include <tl/expected.hpp>

#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "sim/plan.h"
#include "sim/stop.h"

namespace minihlo {

struct MemoryPrediction {
  int64_t peak = 0;  // bytes of values that are at work at the same time, inputs included
};

/// What a run of the entry computation on `mesh` will report as its peak, about: values are shared,
/// taken over and freed as in a run (docs/simulator.md), inputs are different on each device.
/// What depends on values is taken at its largest: a loop has one trip, a conditional takes each of
/// its branches, all devices together. Kernels' own memory is left out. Fails where a run would end
/// early whatever its inputs are, at what can't be walked, and where that takes millions of steps.
tl::expected<MemoryPrediction, Stop> predict_memory(const Module& module, const Mesh& mesh,
                                                    int64_t cluster_elements);

}  // namespace minihlo
