// All partial permutations, for tests that are exhaustive.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "ir/attributes.h"

namespace minihlo::testing {

/// Calls `visit` with every partial permutation of `ids` ids: each is the source of at most one
/// pair and the target of at most one.
inline void each_partial_permutation(
    int64_t ids, const std::function<void(const std::vector<SourceTarget>&)>& visit) {
  std::vector<SourceTarget> pairs;
  std::vector<bool> taken(static_cast<size_t>(ids));
  std::function<void(int64_t)> extend = [&](int64_t target) {
    if (target == ids) return visit(pairs);
    extend(target + 1);
    for (int64_t source = 0; source < ids; ++source) {
      if (taken[static_cast<size_t>(source)]) continue;
      taken[static_cast<size_t>(source)] = true;
      pairs.push_back({source, target});
      extend(target + 1);
      pairs.pop_back();
      taken[static_cast<size_t>(source)] = false;
    }
  };
  extend(0);
}

}  // namespace minihlo::testing
