// The same module in wider arithmetic: what tells rounding from a real difference.
#pragma once

#include <memory>
#include <optional>

#include "ir/element_type.h"
#include "ir/module.h"
#include "sim/run/inputs.h"

namespace minihlo::prove {

/// The types whose arithmetic is widened to f64: f32, bf16, f16.
bool is_widened(ElementType type);

/// Rounds a value to what a convert from `source` to a widened type `target` keeps of it.
double converted(double value, ElementType source, ElementType target);

/// Whether the difference of two values is the rounding of float arithmetic, given the same values
/// in wider arithmetic: it shrinks away there, as a real difference does not.
bool is_rounding(const double (&values)[2], const double (&wide)[2]);

/// A copy of the module that computes in f64 what it computed in f32, bf16 or f16. A convert to one
/// of these still rounds to it: it says so. Null where the module looks at the bits of floats, uses
/// narrower ones, or f64 already.
std::unique_ptr<Module> widened(const Module& module);

/// Inputs for it, with the same values. Nothing when there is no memory for them.
std::optional<Inputs> widened(const Inputs& inputs);

}  // namespace minihlo::prove
