// The value of asynchronous work that is under way: ((operands), result, ...).
#pragma once

#include <cstddef>

#include "ir/module.h"

namespace minihlo {

/// Whether a value of this shape can be asynchronous work that is under way.
bool is_async_state(const Shape* shape);

/// Whether the state leaves it open where the result goes: an update or the done says it.
bool is_result_open(const Shape* state);

/// Whether updates and the done still have to say what `called` takes, or where its result goes:
/// `state` is the shape of a start that is given so many operands. False where `called` is null.
bool is_bound_later(const Computation* called, size_t operand_count, const Shape* state);

}  // namespace minihlo
