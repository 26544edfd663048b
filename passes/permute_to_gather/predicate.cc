#include "passes/permute_to_gather/predicate.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace minihlo {

tl::expected<std::string, std::string> source_target_pairs_fault(
    std::span<const SourceTarget> pairs, int64_t replicas, int64_t partitions) {
  int64_t total = 0;
  if (__builtin_mul_overflow(replicas, partitions, &total) || total > kMaxMappingEntries) {
    return tl::make_unexpected(
        fmt::format("length error: {} replicas by {} partitions are more than the {} entries that "
                    "a mapping can have",
                    replicas, partitions, kMaxMappingEntries));
  }
  std::vector<int64_t> targets;
  targets.reserve(pairs.size());
  for (const SourceTarget& pair : pairs) targets.push_back(pair.target);
  std::sort(targets.begin(), targets.end());
  auto twice = std::adjacent_find(targets.begin(), targets.end());
  if (twice != targets.end()) return fmt::format("target {} is named twice", *twice);
  for (const SourceTarget& pair : pairs) {
    if (pair.source / replicas != pair.target / replicas) {
      return fmt::format("pair {{{},{}}} crosses groups of {}", pair.source, pair.target, replicas);
    }
  }
  // Sorted and distinct: the first id that is no target shows as the first step that is not 1.
  int64_t id = 0;
  for (int64_t target : targets) {
    if (target == id) ++id;
  }
  if (id < total) return fmt::format("{} is no target", id);
  return "";
}

}  // namespace minihlo
