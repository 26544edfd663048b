// The same module in wider arithmetic: what tells rounding from a real difference.
#pragma once

#include <memory>
#include <optional>

#include "ir/module.h"
#include "sim/run/inputs.h"

namespace minihlo::prove {

/// A copy of the module that computes in f64 what it computed in f32, bf16 or f16. A convert to one
/// of these still rounds to it: it says so. Null where the module looks at the bits of floats, uses
/// narrower ones, or f64 already.
std::unique_ptr<Module> widened(const Module& module);

/// Inputs for it, with the same values. Nothing when there is no memory for them.
std::optional<Inputs> widened(const Inputs& inputs);

}  // namespace minihlo::prove
