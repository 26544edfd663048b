// Who sends to whom: partial permutations by number, and random ones of many kinds.
//
// A partial permutation of n ids is a list of pairs in which each id is a source at most once and a
// target at most once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "ir/attributes.h"
#include "tools/campaign/random.h"

namespace minihlo::campaign {

using Pairs = std::vector<SourceTarget>;

/// All partial permutations of `ids` ids, by number: sum over k of C(ids, k)^2 k! of them.
class PartialPermutations {
 public:
  /// The largest number of ids that 63 bits can count the permutations of.
  static constexpr int64_t kMaxIds = 18;

  /// Requires 0 <= ids <= kMaxIds.
  explicit PartialPermutations(int64_t ids);

  int64_t count() const { return completions(ids_, ids_); }
  /// Those of number `number`, below count(), sorted by target.
  Pairs at(int64_t number) const;

 private:
  // How many ways there are to give `targets` further targets sources, or none, where `sources`
  // ids are left to be sources.
  int64_t completions(int64_t targets, int64_t sources) const {
    return completions_[static_cast<size_t>(targets * (ids_ + 1) + sources)];
  }

  int64_t ids_;
  std::vector<int64_t> completions_;
};

/// A kind of random permutation.
struct Kind {
  std::string_view name;
  std::string_view summary;  // for help
  Pairs (*make)(int64_t ids, Random& random);
};
std::span<const Kind> kinds();
/// The kind of that name, or null.
const Kind* find_kind(std::string_view name);

/// Cycles of these lengths over ids that are drawn from `ids`; the others have no part. Requires
/// that the lengths are positive and add up to at most `ids`.
Pairs random_cycles(int64_t ids, std::span<const int64_t> lengths, Random& random);

/// Reads `{{0,1},{1,2}}` or `{0,1},{1,2}`, blanks anywhere; `{}` is no pair. Error: what is wrong.
tl::expected<Pairs, std::string> parse_pairs(std::string_view text);
/// "{{0,1},{1,2}}".
std::string to_string(const Pairs& pairs);

}  // namespace minihlo::campaign
