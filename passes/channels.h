// Which instructions have to keep one channel id: those that may meet through it.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace minihlo {

/// Instructions with a channel id, in groups that share it for a reason: a send or recv, its done
/// and its counterpart; and those of one id in different branches of a conditional, where devices
/// that parted may meet. Every instruction with a channel id is in one group. Groups are in the
/// order of their first instruction, computations as the module lists them. Time is linear in
/// instructions, times the depth to which conditionals nest.
std::vector<std::vector<Instruction*>> channel_groups(const Module& module);

/// Those of channel_groups() as a mark by computation and number: whether an instruction shares its
/// channel id with another for a reason, so that it may not be merged, split or renumbered alone.
class SharedChannels {
 public:
  explicit SharedChannels(const Module& module);
  bool is_shared(const Instruction& instruction) const {
    return marks_[instruction.parent()->number()][instruction.number()];
  }

 private:
  std::vector<std::vector<bool>> marks_;
};

}  // namespace minihlo
