// Values that are the same on all devices, whatever they are: made of constants and loop counters,
// without a look at ids or at data.
#pragma once

#include <vector>

#include "ir/module.h"
#include "ir/semantics/mesh.h"

namespace minihlo {

/// Answers for a module as it is when this is made. A value is uniform when all devices that run
/// its instruction together have the same; leaves of tuples are told apart, loops are followed
/// until nothing changes.
class UniformValues {
 public:
  UniformValues(const Module& module, const Mesh& mesh);

  /// Whether all leaves of the value are. False in computations that do not run together.
  bool is_uniform(const Instruction& instruction) const;
  /// Whether all devices are in the same run of a computation at the same time: the entry, what is
  /// called there, and the bodies of loops there whose tests are uniform. In branches they may
  /// part, and meet others in other branches.
  bool runs_together(const Computation& computation) const {
    return together_[computation.number()];
  }

 private:
  using Leaves = std::vector<bool>;

  Leaves& leaves(const Instruction& instruction) {
    return leaves_[instruction.parent()->number()][instruction.number()];
  }
  bool all(const Instruction& instruction) const;
  void find_together(const Module& module);
  bool update(const Instruction& instruction);
  bool give(const Computation& callee, size_t parameter, const Leaves& value);
  Leaves compute(const Instruction& instruction, bool& changed);

  Mesh mesh_;
  const Computation* entry_;
  std::vector<std::vector<Leaves>> leaves_;  // by computation and number
  std::vector<bool> together_;               // by computation
};

}  // namespace minihlo
