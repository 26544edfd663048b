// Which computations all devices run in step: the same ones, equally often.
//
// A permute waits for every device of its row or column of the mesh, an all-gather for its group
// alone. Where devices part, in branches or by loops that end for some, one can't stand for the
// other.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "ir/semantics/mesh.h"

namespace minihlo {

/// Answers for the module as it was. What decides a branch or a loop has to be the same on all
/// devices: made of constants, of what loops count, and of what a collective gives to everyone.
class Lockstep {
 public:
  Lockstep(const Module& module, const Mesh& mesh);

  /// Whether all devices come to what a computation does, each as often as the others.
  bool runs_on_all(const Computation& computation) const { return in_step_[computation.number()]; }

 private:
  using Leaves = std::vector<bool>;

  // Looks at all once more; whether something was given up.
  bool revise(const Module& module);
  Leaves look_at(const Instruction& instruction);
  bool gives_all_the_same(const Instruction& collective);
  bool is_same(const Instruction& value) const;
  void leave(const Computation& computation);
  void give(const Computation& computation, size_t parameter, const Leaves& argument);

  Mesh mesh_;
  int64_t numbers_ = 0;  // that groups were looked through for
  bool changed_ = false;
  std::unordered_map<const Instruction*, bool> shared_;  // collectives that were looked at
  std::vector<bool> in_step_;                            // by computation
  std::vector<std::vector<Leaves>> same_;             // of every value, by computation and number
  std::vector<std::vector<Leaves>> same_parameters_;  // by computation and number of the parameter
};

}  // namespace minihlo
