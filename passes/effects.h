// What instructions do beside giving a value, what they call included.
#pragma once

#include <vector>

#include "ir/module.h"

namespace minihlo {

/// Whether something comes of an instruction, apart from what it calls, though nobody uses its
/// value: what XLA keeps (xla/hlo/ir/hlo_instruction.cc, HasSideEffectNoRecurse). Parameters;
/// infeed, outfeed, send, recv and their done forms; custom-calls marked with a side effect; random
/// numbers that advance a state; start and done forms of collectives, collective-broadcast,
/// collectives with constrain_layout=true, and those with a channel_id in a module that is not
/// partitioned, where programs of another module may wait for them.
bool has_own_effect(const Instruction& instruction, bool is_partitioned);

/// Whether devices exchange data in it: collectives, their start forms, send and recv.
bool is_exchange(const Instruction& instruction);

/// Answers for the computations that a module has when this is made, and for what is added.
class Effects {
 public:
  Effects(const Module& module, bool is_partitioned);
  /// Looks into the computations that were made since. What one of them calls was made after it, or
  /// was there.
  void add_new(const Module& module);

  /// Whether running it once, twice, or not at all is the same but for its value, which depends on
  /// its operands alone. Custom-calls, rng, exchanges, asynchronous work, what has or takes tokens
  /// or buffers are not pure; nor is what calls any of these, nor parameters and barriers.
  bool is_pure(const Instruction& instruction) const;
  /// Whether it has an effect of its own, or calls what has.
  bool has_effect(const Instruction& instruction) const;

  /// Whether all devices run a computation together: the entry, and what is called from such places
  /// alone.
  bool runs_together(const Computation& computation) const {
    return runs_together_[computation.number()];
  }
  /// Whether it belongs to asynchronous work.
  bool is_asynchronous(const Computation& computation) const {
    return is_asynchronous_[computation.number()];
  }

 private:
  void look_into(const Computation& computation);

  bool is_partitioned_;
  std::vector<bool> is_pure_;  // by computation; parameters don't count
  std::vector<bool> has_effect_;
  std::vector<bool> runs_together_;
  std::vector<bool> is_asynchronous_;
};

}  // namespace minihlo
