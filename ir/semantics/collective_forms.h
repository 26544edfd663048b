// The start forms of collectives against the plain ones: what is done, and what comes of it.
#pragma once

#include "ir/instruction.h"

namespace minihlo {

/// The collective whose work an instruction does: all-gather for all-gather-start,
/// collective-permute for recv (of what the devices send); itself for everything else.
constexpr Opcode collective_opcode(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAllGatherStart:
      return Opcode::kAllGather;
    case Opcode::kAllReduceStart:
      return Opcode::kAllReduce;
    case Opcode::kCollectivePermuteStart:
    case Opcode::kRecv:
      return Opcode::kCollectivePermute;
    default:
      return opcode;
  }
}

/// Whether devices exchange data at this instruction: a collective, one of the start forms, or a
/// recv.
inline bool is_collective(Opcode opcode) {
  return info(collective_opcode(opcode)).family == Family::kCollective;
}

/// The shape of what a collective gives. A start form wraps it: (operands, result, ...); but for
/// all-reduce-start, which is shaped like all-reduce. A recv is (data, context, token).
inline const Shape* collective_result_shape(const Instruction& collective) {
  switch (collective.opcode()) {
    case Opcode::kAllGatherStart:
    case Opcode::kCollectivePermuteStart:
      return collective.shape()->element(1);
    case Opcode::kRecv:
      return collective.shape()->element(0);
    default:
      return collective.shape();
  }
}

}  // namespace minihlo
