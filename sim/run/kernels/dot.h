// Products of two operands whose elements a scale multiplies, block by block.
#pragma once

#include "sim/run/kernel.h"

namespace minihlo {

/// scaled-dot: dot of (lhs, rhs), whose elements are multiplied by those of (lhs scale, rhs scale)
/// first, in the type in which products are summed. A dimension of a scale divides that of what it
/// scales, and each element of it is for a block; a scalar stands for no scale.
KernelResult scaled_dot_kernel(KernelCall& call);  // dot.cc

}  // namespace minihlo
