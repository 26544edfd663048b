// Steps that are all alike, as a loop or one behind the other.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "passes/emitter.h"

namespace minihlo {

/// What goes from step to step.
using State = std::vector<Instruction*>;

/// One step: a number that is known, or the counter of a loop, which counts from 0.
struct Step {
  int64_t number = 0;
  Instruction* counter = nullptr;  // s32[]; null where the number is known
};

/// Emits one step in the computation that `emit` is at, and returns the state behind it, in which
/// every value has the shape that it had before. What is not in the state can't be used.
using StepBody = std::function<State(Emitter& emit, const Step& step, const State& state)>;

/// Emits `trips` steps from `start` on and returns the state behind the last: a while loop, or,
/// where `unroll` is set or there is but one step, what the steps do. The caller puts computations
/// in order in the end (order_callees_first). Where `wanted` is given, only the values that it
/// lists are returned, in its order.
State emit_steps(Emitter& emit, int64_t trips, bool unroll, State start, const StepBody& body,
                 std::optional<std::vector<size_t>> wanted = {});

}  // namespace minihlo
