#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "passes/permute_to_gather/orbits.h"

namespace minihlo {
namespace {

using Pairs = std::vector<SourceTarget>;
using Groups = std::vector<std::vector<int64_t>>;

TEST_CASE("orbits: rings become groups") {
  CHECK(pack_orbits(Pairs{{0, 1}, {1, 0}, {2, 3}, {3, 2}}, 4) == Groups{{0, 1}, {2, 3}});
  CHECK(pack_orbits(Pairs{{0, 2}, {2, 0}, {1, 3}, {3, 1}}, 4) == Groups{{0, 2}, {1, 3}});
  CHECK(pack_orbits(Pairs{{3, 0}}, 4) == Groups{{0, 3}, {1, 2}});
}

TEST_CASE("orbits: nobody exchanges anything, so everyone is alone") {
  CHECK(pack_orbits(Pairs{}, 3) == Groups{{0}, {1}, {2}});
  CHECK(pack_orbits(Pairs{{1, 1}, {0, 0}}, 2) == Groups{{0}, {1}});
  CHECK(pack_orbits(Pairs{}, 1) == Groups{{0}});
}

TEST_CASE("orbits: groups are equal, so small orbits fill up") {
  // Two of three, one of two: eight ids in fours.
  CHECK(pack_orbits(Pairs{{0, 1}, {1, 2}, {3, 4}, {4, 5}, {6, 7}}, 8) ==
        Groups{{0, 1, 2, 3, 4, 5, 6, 7}});
  CHECK(pack_orbits(Pairs{{0, 1}, {1, 2}, {3, 4}, {4, 5}}, 8) ==
        Groups{{0, 1, 2, 6}, {3, 4, 5, 7}});
  CHECK(pack_orbits(Pairs{{0, 1}, {2, 3}, {4, 5}, {5, 6}, {6, 7}}, 8) ==
        Groups{{0, 1, 2, 3}, {4, 5, 6, 7}});
}

TEST_CASE("orbits: where no equal groups are finer everyone is in one") {
  CHECK(pack_orbits(Pairs{{0, 1}, {1, 2}}, 5) == Groups{{0, 1, 2, 3, 4}});
  CHECK(pack_orbits(Pairs{{0, 1}}, 3) == Groups{{0, 1, 2}});
}

// Fills bins of `capacity` in every way; whether one works.
bool fits(const std::vector<int64_t>& sizes, size_t next, std::vector<int64_t>& room) {
  if (next == sizes.size()) return true;
  for (int64_t& bin : room) {
    if (bin < sizes[next]) continue;
    bin -= sizes[next];
    bool good = fits(sizes, next + 1, room);
    bin += sizes[next];
    if (good) return true;
  }
  return false;
}

TEST_CASE("orbits: groups partition the ids, keep pairs together, and are as small as can be") {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    int64_t count = 1 + static_cast<int64_t>(random() % 12);
    std::vector<int64_t> to(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) to[static_cast<size_t>(i)] = i;
    std::shuffle(to.begin(), to.end(), random);
    Pairs pairs;
    for (int64_t i = 0; i < count; ++i) {
      if (random() % 3) pairs.push_back({i, to[static_cast<size_t>(i)]});
    }
    Groups groups = pack_orbits(pairs, count);
    std::vector<int64_t> group_of(static_cast<size_t>(count), -1);
    for (size_t g = 0; g < groups.size(); ++g) {
      CHECK(groups[g].size() == groups[0].size());
      CHECK(std::is_sorted(groups[g].begin(), groups[g].end()));
      if (g > 0) CHECK(groups[g - 1][0] < groups[g][0]);
      for (int64_t id : groups[g]) {
        CHECK(group_of[static_cast<size_t>(id)] == -1);
        group_of[static_cast<size_t>(id)] = static_cast<int64_t>(g);
      }
    }
    CHECK(std::find(group_of.begin(), group_of.end(), -1) == group_of.end());
    std::vector<int64_t> orbit(static_cast<size_t>(count));
    for (size_t i = 0; i < orbit.size(); ++i) orbit[i] = static_cast<int64_t>(i);
    for (size_t again = 0; again < orbit.size(); ++again) {
      for (const SourceTarget& pair : pairs) {
        int64_t& a = orbit[static_cast<size_t>(pair.source)];
        int64_t& b = orbit[static_cast<size_t>(pair.target)];
        a = b = std::min(a, b);
      }
    }
    for (const SourceTarget& pair : pairs) {
      CHECK(group_of[static_cast<size_t>(pair.source)] ==
            group_of[static_cast<size_t>(pair.target)]);
    }
    std::vector<int64_t> sizes;
    for (int64_t name = 0; name < count; ++name) {
      int64_t size = std::count(orbit.begin(), orbit.end(), name);
      if (size > 0) sizes.push_back(size);
    }
    std::sort(sizes.rbegin(), sizes.rend());
    // First fit need not find the smallest size, but up to twelve ids it does.
    int64_t smallest = 1;
    for (;; ++smallest) {
      if (count % smallest != 0 || smallest < sizes[0]) continue;
      std::vector<int64_t> room(static_cast<size_t>(count / smallest), smallest);
      if (fits(sizes, 0, room)) break;
    }
    CHECK(static_cast<int64_t>(groups[0].size()) == smallest);
  }
}

TEST_CASE("orbits: a large mesh takes no time") {
  constexpr int64_t kCount = int64_t{1} << 18;
  Pairs pairs;
  for (int64_t i = 0; i + 2 < kCount; i += 4) {
    pairs.push_back({i, i + 1});
    pairs.push_back({i + 1, i + 2});
  }
  CHECK(pack_orbits(pairs, kCount).size() == kCount / 4);
}

}  // namespace
}  // namespace minihlo
