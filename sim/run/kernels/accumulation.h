// What reduce and reduce-window share: a reducer over the result's element types.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/run/kernel.h"

namespace minihlo {

/// (accumulators..., elements...) -> accumulators, of n arrays: accumulators have the types of the
/// result, elements those of the arrays. XLA lets the reducer's own differ from both in precision.
struct Accumulation {
  const ScalarProgram* program;
  std::vector<Buffer> inits;                // as accumulators
  std::vector<int64_t> widths;              // of the arrays' elements, in bytes
  std::vector<int64_t> accumulator_widths;  // in bytes
};

/// That of an instruction whose operands are n arrays and their n init values.
tl::expected<Accumulation, Stop> accumulation(KernelCall& call);

}  // namespace minihlo
