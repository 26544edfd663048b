// Asynchronous work is begun by one instruction and ended by another.
#pragma once

#include <optional>

#include "ir/opcode.h"

namespace minihlo {

/// The opcode that ends what `start` begins, or goes on with; nothing for other opcodes.
inline std::optional<Opcode> done_of(Opcode start) {
  switch (start) {
    case Opcode::kAllGatherStart:
      return Opcode::kAllGatherDone;
    case Opcode::kAllReduceStart:
      return Opcode::kAllReduceDone;
    case Opcode::kCollectivePermuteStart:
      return Opcode::kCollectivePermuteDone;
    case Opcode::kCopyStart:
      return Opcode::kCopyDone;
    case Opcode::kSend:
      return Opcode::kSendDone;
    case Opcode::kRecv:
      return Opcode::kRecvDone;
    case Opcode::kAsyncStart:
    case Opcode::kAsyncUpdate:
      return Opcode::kAsyncDone;
    default:
      return std::nullopt;
  }
}

}  // namespace minihlo
