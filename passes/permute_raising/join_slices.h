// Slices that were one permute of several operands.
#pragma once

#include <vector>

#include "passes/permute_raising/raise_plan.h"
#include "passes/users.h"

namespace minihlo {

/// Whether the two become permutes of one mode and the same pairs.
bool have_same_pairs(const RaisedSlice& a, const RaisedSlice& b);

/// One permute for each slice, or for several where a tuple is made of just their results, they are
/// looked up by one place, and have the same pairs. All start and done pairs, or none.
std::vector<RaisedPermute> join_slices(std::vector<RaisedSlice> slices, const Users& users);

}  // namespace minihlo
