#include "ir/proto/slice_sizes.h"

#include <algorithm>
#include <vector>

namespace minihlo::proto {

std::span<const std::span<const int64_t>> split_slice_sizes(Arena& arena,
                                                            std::span<Instruction* const> operands,
                                                            std::span<const int64_t> sizes) {
  std::vector<size_t> ranks;
  if (!operands.empty()) {
    for (const Shape* leaf : leaf_shapes(operands[0]->shape())) {
      ranks.push_back(static_cast<size_t>(leaf->rank()));
    }
  }
  const bool cuts = std::any_of(ranks.begin(), ranks.end(), [](size_t rank) { return rank > 0; });
  std::vector<std::span<const int64_t>> lists;
  std::span<const int64_t> rest = sizes;
  for (size_t i = 0; cuts && !rest.empty(); i = (i + 1) % ranks.size()) {
    if (ranks[i] > rest.size()) break;
    lists.push_back(rest.first(ranks[i]));
    rest = rest.subspan(ranks[i]);
  }
  if (!rest.empty()) lists.assign(1, sizes);
  return arena.copy(lists);
}

}  // namespace minihlo::proto
