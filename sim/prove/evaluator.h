// Computes instructions on known values, with the simulator's kernels.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "ir/instruction.h"
#include "ir/semantics/mesh.h"
#include "sim/run/domain.h"

namespace minihlo::prove {

class Evaluator {
 public:
  Evaluator();

  /// The elements of each result leaf, from those of each operand leaf; nothing when the simulator
  /// does not support the instruction, or it needs more memory than a known value is worth.
  std::optional<std::vector<std::vector<std::byte>>> evaluate(
      const Instruction& instruction, const std::vector<std::vector<std::byte>>& operands);

  /// The program of a computation on scalars, or null where there is none.
  const ScalarProgram* program(const Computation& computation);

 private:
  Mesh mesh_;
  RunContext context_;
  BufferDomain domain_;
};

}  // namespace minihlo::prove
