// Slices that were one permute of several operands.
#pragma once

#include <vector>

#include "passes/permute_raising/raise_plan.h"
#include "passes/users.h"

namespace minihlo {

/// One permute for each slice, or for several where a tuple is made of just their results, they are
/// looked up by one place, and have the same pairs. All start and done pairs, or none.
std::vector<RaisedPermute> join_slices(std::vector<RaisedSlice> slices, const Users& users);

}  // namespace minihlo
