#include "tools/campaign/permutations.h"

#include <algorithm>
#include <map>
#include <set>

#include <doctest/doctest.h>

namespace minihlo::campaign {
namespace {

// Whether each id is below `ids`, a source at most once and a target at most once.
bool is_partial_permutation(const Pairs& pairs, int64_t ids) {
  std::set<int64_t> sources, targets;
  for (const SourceTarget& pair : pairs) {
    if (pair.source < 0 || pair.source >= ids || pair.target < 0 || pair.target >= ids)
      return false;
    if (!sources.insert(pair.source).second || !targets.insert(pair.target).second) return false;
  }
  return true;
}

TEST_CASE("campaign: there are as many partial permutations as combinatorics says") {
  // https://oeis.org/A002720
  const int64_t counts[] = {1, 2, 7, 34, 209, 1546, 13327, 130922, 1441729, 17572114, 234662231};
  for (int64_t ids = 0; ids < std::ssize(counts); ++ids) {
    CHECK(PartialPermutations(ids).count() == counts[ids]);
  }
  CHECK(PartialPermutations(PartialPermutations::kMaxIds).count() == 2968971263911288999);
}

TEST_CASE("campaign: each partial permutation has one number") {
  for (int64_t ids = 0; ids <= 6; ++ids) {
    const PartialPermutations all(ids);
    std::set<std::string> seen;
    for (int64_t number = 0; number < all.count(); ++number) {
      const Pairs pairs = all.at(number);
      REQUIRE(is_partial_permutation(pairs, ids));
      REQUIRE(std::ranges::is_sorted(pairs, {}, &SourceTarget::target));
      REQUIRE(seen.insert(to_string(pairs)).second);
    }
    CHECK(static_cast<int64_t>(seen.size()) == all.count());
  }
  const PartialPermutations large(PartialPermutations::kMaxIds);
  CHECK(large.at(0).empty());
  CHECK(is_partial_permutation(large.at(large.count() - 1), PartialPermutations::kMaxIds));
  CHECK(large.at(large.count() - 1).size() == PartialPermutations::kMaxIds);
}

// The lengths of the cycles of a permutation of all ids, sorted; empty where it is none of all.
std::vector<int64_t> cycle_lengths(const Pairs& pairs, int64_t ids) {
  if (static_cast<int64_t>(pairs.size()) != ids) return {};
  std::map<int64_t, int64_t> target;
  for (const SourceTarget& pair : pairs) target[pair.source] = pair.target;
  std::vector<int64_t> lengths;
  while (!target.empty()) {
    const int64_t first = target.begin()->first;
    int64_t length = 0;
    for (int64_t at = first; target.contains(at); ++length) {
      const int64_t next = target[at];
      target.erase(at);
      at = next;
    }
    lengths.push_back(length);
  }
  std::ranges::sort(lengths);
  return lengths;
}

// Whether pairs are what a kind says.
bool has_property(std::string_view kind, const Pairs& pairs, int64_t ids) {
  const std::vector<int64_t> cycles = cycle_lengths(pairs, ids);
  const auto count = static_cast<int64_t>(pairs.size());
  auto all = [&](auto&& of_pair) { return std::ranges::all_of(pairs, of_pair); };
  auto step = [&](const SourceTarget& pair) { return (pair.target - pair.source + ids) % ids; };
  auto same_step = [&](const SourceTarget& pair) { return step(pair) == step(pairs[0]); };
  if (kind == "full" || kind == "cycles") return !cycles.empty();
  if (kind == "partial") return true;
  if (kind == "cyclic") return cycles == std::vector<int64_t>{ids};
  if (kind == "involution") return !cycles.empty() && cycles.back() <= 2;
  if (kind == "fixed-points") return !cycles.empty() && cycles[0] == 1;
  if (kind == "self") return count > 0 && all([&](auto& pair) { return step(pair) == 0; });
  if (kind == "ring") {
    return count == ids && all(same_step) &&
           (step(pairs[0]) == 1 % ids || step(pairs[0]) == ids - 1);
  }
  if (kind == "chain") {
    return count == ids - 1 && all(same_step) &&
           all([](auto& pair) { return std::abs(pair.source - pair.target) == 1; });
  }
  if (kind == "shift") return count == ids && all(same_step);
  if (kind == "butterfly") {
    const int64_t bit = pairs[0].source ^ pairs[0].target;
    return (bit & (bit - 1)) == 0 &&
           all([&](auto& pair) { return (pair.source ^ pair.target) == bit; }) &&
           ((ids & (ids - 1)) != 0 || count == ids);
  }
  if (kind == "transpose") {
    for (int64_t rows = 1; rows <= ids; ++rows) {
      if (ids % rows == 0 && count == ids && all([&](auto& pair) {
            const int64_t columns = ids / rows;
            return pair.target / rows == pair.source % columns &&
                   pair.target % rows == pair.source / columns;
          })) {
        return true;
      }
    }
    return false;
  }
  if (kind == "empty") return pairs.empty();
  return false;
}

TEST_CASE("campaign: each kind of random permutation is what it says, of any number of ids") {
  for (const Kind& kind : kinds()) {
    CAPTURE(std::string(kind.name));
    CHECK(find_kind(kind.name) == &kind);
    std::set<std::string> seen;
    for (int64_t ids = 1; ids <= 20; ++ids) {
      for (uint64_t number = 0; number < 20; ++number) {
        Random random(7, number), again(7, number);
        const Pairs pairs = kind.make(ids, random);
        CAPTURE(ids);
        CAPTURE(to_string(pairs));
        REQUIRE(is_partial_permutation(pairs, ids));
        REQUIRE(has_property(kind.name, pairs, ids));
        REQUIRE(to_string(kind.make(ids, again)) == to_string(pairs));
        if (ids == 12) seen.insert(to_string(pairs));
      }
    }
    CHECK((seen.size() > 10 || kind.name == "empty"));
  }
  CHECK(find_kind("rings") == nullptr);
}

TEST_CASE("campaign: cycles have the lengths that are given") {
  for (uint64_t number = 0; number < 50; ++number) {
    Random random(1, number);
    const int64_t lengths[] = {3, 1, 2};
    Pairs pairs = random_cycles(9, lengths, random);
    REQUIRE(is_partial_permutation(pairs, 9));
    REQUIRE(pairs.size() == 6);
    // The ids that have no part, as cycles of one.
    for (int64_t id = 0; id < 9; ++id) {
      if (std::ranges::none_of(pairs, [&](auto& pair) { return pair.source == id; })) {
        pairs.push_back({id, id});
      }
    }
    REQUIRE(cycle_lengths(pairs, 9) == std::vector<int64_t>{1, 1, 1, 1, 2, 3});
  }
}

TEST_CASE("campaign: random numbers are the same everywhere, and within their bounds") {
  Random random(1, 2);
  CHECK(random.next() == 0xa4f53d3266ae449eu);
  std::set<int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.between(-2, 3));
  CHECK(seen == std::set<int64_t>{-2, -1, 0, 1, 2, 3});
  CHECK(Random(1, 3).next() != Random(2, 3).next());
  CHECK(Random(1, 3).next() != Random(1, 4).next());
}

TEST_CASE("campaign: pairs are read in every spelling, and errors say what was expected") {
  for (const char* text :
       {"{{0,1},{1,2}}", "{0,1},{1,2}", " { {0 , 1} ,{1,2} } ", "{0,1}, {1,2}\r"}) {
    auto pairs = parse_pairs(text);
    REQUIRE_MESSAGE(pairs, text);
    CHECK(to_string(*pairs) == "{{0,1},{1,2}}");
  }
  for (const char* text : {"", "{}", " { } "}) CHECK(parse_pairs(text)->empty());
  const char* wrong[] = {"{",   "{{",      "{{0,1}",   "{{0,1},}",  "{{0,1}{1,2}}",
                         "{0}", "{0,1,2}", "{{-1,0}}", "{{0,1}} x", "{{0,99999999999999999999}}",
                         "0,1", "{{0,1}},"};
  for (const char* text : wrong) {
    auto pairs = parse_pairs(text);
    REQUIRE_MESSAGE(!pairs, text);
    CHECK(pairs.error().find("expected") != std::string::npos);
  }
}

}  // namespace
}  // namespace minihlo::campaign
