// What tells rounding from a real difference.
#pragma once

#include <array>
#include <functional>
#include <optional>

#include "ir/element_type.h"
#include "ir/module.h"
#include "sim/prove/wide_arithmetic.h"
#include "sim/run/inputs.h"

namespace minihlo::prove {

/// What f64 may lose in some thousand operations, as a part of the largest operand.
inline constexpr double kLost = 1e-12;

/// What an element is in each of two modules when they are computed in wider arithmetic; nothing
/// where that can't be told.
using WideValues = std::function<std::optional<std::array<double, 2>>(const WideArithmetic&)>;

/// Whether the difference of two values of a widened type may be the rounding of float arithmetic,
/// of values that were converted to no fewer bits than the result has, or of constants: in wider
/// arithmetic it shrinks away, as a real difference does not, or is no larger than what the
/// constants' last places move; or it is less than what the wider arithmetic itself may lose of
/// `largest`, the largest magnitude among inputs and of the modules' own: (3 + 1e-45) - 3 is 0 and
/// (3 - 3) + 1e-45 is not, in f64 too. True where nothing can be told.
std::optional<bool> is_rounding(ElementType type, const double (&values)[2], double largest,
                                const WideValues& evaluate);

/// The same where there is no wider arithmetic to ask: two elements of a float or complex type may
/// differ by rounding if they are close for the type, beside each other, beside the largest input
/// or, unless the type has few bits, beside the modules' `own` magnitude; and where one is no
/// finite number if the inputs are so large that eight of them multiplied overflow.
bool may_be_rounding(ElementType type, const std::byte* const (&elements)[2], double largest_input,
                     double own);

/// Whether a module computes with floats or complex numbers in a way that may round. Where neither
/// of two modules does, no difference is rounding.
bool may_round(const Module& module);

/// The largest magnitude, up to 1024, that a module's computation has whatever its inputs are: that
/// of its float constants, and 1 where it has functions as exp. Larger constants are masks more
/// often than terms of sums.
double own_magnitude(const Module& module);
/// The largest magnitude among all finite float elements; 0 where there are none.
double largest_magnitude(const Inputs& inputs);
/// The larger of `so_far` and the magnitude of a finite float element.
double larger_magnitude(double so_far, ElementType type, const std::byte* element);

}  // namespace minihlo::prove
