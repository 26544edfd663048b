// How often a loop runs, where that can be computed from what it starts with.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/instruction.h"
#include "ir/semantics/known_values.h"

namespace minihlo {

/// The number of trips of a while, the same on all devices: its test depends on parts of the state
/// that start with known values and step by what is known alone. Nothing where it does not, where
/// there are more than `max_trips`, or where counting takes too long. Sees through tuples, calls
/// and fusions. Parts of the state that are tuples are not known.
std::optional<int64_t> trip_count(const Instruction& loop, KnownValues& values, int64_t max_trips);

}  // namespace minihlo
