#include <doctest/doctest.h>

#include "passes/permute_to_gather/predicate.h"

#include <vector>

namespace minihlo {
namespace {

using Pairs = std::vector<SourceTarget>;

std::string fault(const Pairs& pairs, int64_t replicas, int64_t partitions) {
  auto result = source_target_pairs_fault(pairs, replicas, partitions);
  return result ? *result : "error: " + result.error();
}

TEST_CASE("predicate: a full permutation inside its groups is valid") {
  CHECK(fault({{0, 1}, {1, 0}}, 2, 1) == "");
  CHECK(fault({{0, 1}, {1, 0}, {2, 3}, {3, 2}}, 2, 2) == "");
  CHECK(fault({{0, 0}, {1, 1}, {2, 2}}, 1, 3) == "");
  CHECK(fault({{0, 0}}, 1, 1) == "");
}

TEST_CASE("predicate: what makes pairs invalid") {
  CHECK(fault({{0, 1}, {1, 1}}, 2, 1) == "target 1 is named twice");
  CHECK(fault({{0, 2}, {2, 0}, {1, 1}, {3, 3}}, 2, 2) == "pair {0,2} crosses groups of 2");
  CHECK(fault({{0, 1}, {1, 0}}, 1, 2) == "pair {0,1} crosses groups of 1");
  CHECK(fault({{0, 1}}, 2, 1) == "0 is no target");
  CHECK(fault({{0, 0}}, 2, 1) == "1 is no target");
  CHECK(fault({}, 2, 1) == "0 is no target");
  CHECK(fault({{0, 1}, {1, 0}, {2, 3}}, 4, 1) == "2 is no target");
  CHECK(fault({{0, 1}, {1, 0}, {2, 3}}, 2, 2) == "2 is no target");
}

TEST_CASE("predicate: targets alone count, a source may be named twice") {
  CHECK(fault({{0, 0}, {0, 1}}, 2, 1) == "");
}

TEST_CASE("predicate: beyond the longest mapping it fails") {
  CHECK(fault({}, 2305843009213693951, 1) == "0 is no target");
  CHECK(fault({}, 1, 2305843009213693951) == "0 is no target");
  CHECK(fault({}, 2305843009213693952, 1).starts_with("error: length error"));
  CHECK(fault({}, int64_t{1} << 40, int64_t{1} << 40).starts_with("error: length error"));
}

// Every list of up to four pairs over four ids, against the definition read literally.
TEST_CASE("predicate: agrees with its definition on all small lists") {
  const int64_t meshes[][2] = {{1, 4}, {2, 2}, {4, 1}};
  for (auto [replicas, partitions] : meshes) {
    for (int length = 0; length <= 4; ++length) {
      int lists = 1 << (4 * length);
      for (int code = 0; code < lists; ++code) {
        Pairs pairs;
        for (int i = 0; i < length; ++i) {
          pairs.push_back({code >> (4 * i) & 3, code >> (4 * i + 2) & 3});
        }
        int named[4] = {};
        bool invalid = false;
        for (const SourceTarget& pair : pairs) {
          if (++named[pair.target] > 1) invalid = true;
          if (pair.source / replicas != pair.target / replicas) invalid = true;
        }
        for (int count : named) invalid |= count == 0;
        if ((fault(pairs, replicas, partitions) != "") != invalid) FAIL(code);
      }
    }
  }
}

}  // namespace
}  // namespace minihlo
