// Asynchronous work is begun by one instruction and ended by another.
#pragma once

#include <array>
#include <optional>

#include "ir/opcode.h"

namespace minihlo {

/// The opcode that ends what `start` begins, or goes on with; nothing for other opcodes.
constexpr std::optional<Opcode> done_of(Opcode start) {
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

/// Whether an opcode ends what another begins.
inline bool is_done(Opcode opcode) {
  constexpr auto kDone = [] {
    std::array<bool, kOpcodeCount> done{};
    for (size_t i = 0; i < done.size(); ++i) {
      if (const auto end = done_of(static_cast<Opcode>(i))) done[static_cast<size_t>(*end)] = true;
    }
    return done;
  }();
  return kDone[static_cast<size_t>(opcode)];
}

/// Whether an opcode goes on with, or ends, what an async-start begins.
inline bool continues_async(Opcode opcode) {
  return opcode == Opcode::kAsyncUpdate || opcode == Opcode::kAsyncDone;
}

}  // namespace minihlo
