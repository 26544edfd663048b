// All-gather, reduce-scatter and all-reduce of one array, as rings.
#pragma once

#include "passes/ring/ring.h"

namespace minihlo {

/// The dimension along which a collective gathers or scatters. Error: it has none that all operands
/// and results have, or not one result for each operand.
tl::expected<int64_t, std::string> collective_axis(const Instruction& collective,
                                                   std::span<const Shape* const> results);

/// How a sum is taken.
struct RingSum {
  bool both_directions = false;
  bool in_group_order = false;  // then one direction
};

/// The shards of all members along an axis. Requires a result with elements.
Instruction* ring_all_gather(Emitter& emit, const Ring& ring, Instruction* shard, int64_t axis,
                             bool both_directions);

/// What a reducer does to whole arrays. Error: it takes other types than `type`, or another order
/// than the group's may give other values than by rounding.
tl::expected<Combine, std::string> combine_by(Computation& reducer, ElementType type,
                                              bool in_group_order);

/// The type in which sums of elements of `type` go round: in the order of the group that in which
/// collectives take them, so that bits stay.
ElementType ring_sum_type(const Computation& reducer, ElementType type, const Ring& ring,
                          const RingSum& how);
/// An array as one of another type, or as it is.
Instruction* as_type(Emitter& emit, Instruction* array, ElementType type);

/// The device's chunk along an axis, whose extent the members divide, of what all members have.
/// Requires an array with elements.
Instruction* ring_reduce_scatter(Emitter& emit, const Ring& ring, Instruction* array, int64_t axis,
                                 const Combine& combine, const RingSum& how);

/// What all members have, combined. Requires an array with elements.
Instruction* ring_all_reduce(Emitter& emit, const Ring& ring, Instruction* array,
                             const Combine& combine, const RingSum& how);

}  // namespace minihlo
