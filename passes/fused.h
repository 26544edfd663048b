// The bodies of fusions, which stay valid only if all in them is used and their root is not: what a
// pass changes in one has to be followed up.
#pragma once

#include <vector>

#include "ir/module.h"

namespace minihlo {

/// Answers for the computations that a module has when this is made.
class FusedBodies {
 public:
  explicit FusedBodies(const Module& module);

  /// Whether a pass may let parameters of a computation go without use: in a fusion's body only if
  /// no fusion around says by number what it aliases; else anywhere.
  bool may_change(const Computation& computation) const { return !is_fixed_[computation.number()]; }

 private:
  std::vector<bool> is_fixed_;  // by computation
};

/// Makes the bodies valid again: what is not used goes, parameters and the operands that fusions
/// give them among it; a root that is used is copied. Computations are put in order first.
void finish_bodies(Module& module);

}  // namespace minihlo
