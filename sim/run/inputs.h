// Values to run a module on when the user gives none.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include <tl/expected.hpp>

#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "sim/run/tensor.h"
#include "sim/stop.h"

namespace minihlo {

/// Per device the leaves of all entry parameters, in order; of one device only: the same for all.
/// Tokens have no leaf.
using Inputs = std::vector<std::vector<HostTensor>>;

/// Writes `count` seeded values of an array shape, those with the numbers first, first + 1, ... of
/// `total` that there are.
///
/// Values of different numbers are different as far as the type has room: the number goes through a
/// permutation of at least `total` values that depends on the seed, and what it gives is
///   integers   itself, around zero where the type is signed; as many values as the type has
///   floats     a multiple of a power of two between -128 and 128, exact in the type; in narrow
///              types as many integers around zero as are exact
///   f8e8m0fnu  a power of two
///   pred       its lowest bit
/// A scalar of integer type is from 0 to 7, since it may be an index. Complex parts are two values.
void fill_seeded(const Shape* shape, uint64_t seed, int64_t first, int64_t count, int64_t total,
                 std::byte* values);

/// Seeded inputs for every device, different on each, the same for the same module, mesh and seed,
/// and for any number of threads (0: as many as the machine has).
/// Stop::kMemory when they take more than `max_bytes` together; unsupported for shapes that are
/// unbounded or no arrays; kTime when the deadline passes before all are made. Dynamic dimensions have
/// the size of their bound.
tl::expected<Inputs, Stop> make_inputs(
    const Module& module, const Mesh& mesh, uint64_t seed, int64_t max_bytes, int threads = 1,
    std::optional<std::chrono::steady_clock::time_point> deadline = std::nullopt);

}  // namespace minihlo
