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

/// What f64 may lose in some thousand operations, as a part of the largest operand.
inline constexpr double kLost = 1e-12;

/// Whether the difference of two values is the rounding of float arithmetic, given the same values
/// in wider arithmetic: it shrinks away there, as a real difference does not; or it is less than
/// what the wider arithmetic itself may lose of `largest`, the largest magnitude among the inputs:
/// (3 + 1e-45) - 3 is 0 and (3 - 3) + 1e-45 is not, in f64 too.
bool is_rounding(const double (&values)[2], const double (&wide)[2], double largest);

/// The same where there is no wider arithmetic to ask: two elements of a float or complex type may
/// differ by rounding if they are close for the type, beside each other or beside the largest
/// input; and where one is no finite number if the inputs are so large that four of them multiplied
/// overflow.
bool may_be_rounding(ElementType type, const std::byte* const (&elements)[2], double largest);

/// Whether a module computes with floats or complex numbers in a way that may round. Where neither
/// of two modules does, no difference is rounding.
bool may_round(const Module& module);

/// The largest magnitude among all finite float elements; 0 where there are none.
double largest_magnitude(const Inputs& inputs);
/// The larger of `so_far` and the magnitude of a finite float element.
double larger_magnitude(double so_far, ElementType type, const std::byte* element);

/// A copy of the module that computes in f64 what it computed in f32, bf16 or f16. A convert to one
/// of these still rounds to it: it says so. Null where the module looks at the bits of floats, uses
/// narrower ones, or f64 already.
std::unique_ptr<Module> widened(const Module& module);

/// Inputs for it, with the same values. Nothing when there is no memory for them.
std::optional<Inputs> widened(const Inputs& inputs);

}  // namespace minihlo::prove
