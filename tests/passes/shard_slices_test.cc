// The passes that rewrite slices of what collectives give, on random modules: they rewrite what
// they should, leave valid modules, and the prover finds the same values on all devices.
#include <random>

#include <doctest/doctest.h>

#include "tests/passes/prove_pass.h"
#include "tests/passes/shard_modules.h"

namespace minihlo {
namespace {

using testing::ShardModule;

// Runs a pass on a module; whether it rewrote what it is for, which is one thing.
bool rewrites(std::string_view pass, const ShardModule& made) {
  const testing::ProvedRun run = testing::prove_pass(pass, made.text);
  CAPTURE(run.reason);
  CAPTURE(run.text);
  REQUIRE(run.entries.size() == 1);
  CAPTURE(run.entries[0].reason);
  REQUIRE(run.verdict == "proved");
  return run.entries[0].rewritten;
}

TEST_CASE("shard slices: all-gather-slice-cancel on random modules") {
  std::mt19937 random(1);
  int64_t rewritten = 0;
  for (int i = 0; i < 400; ++i) {
    ShardModule made = testing::random_shard_module(random, "all-gather");
    CAPTURE(i);
    CAPTURE(made.text);
    const bool done = rewrites("all-gather-slice-cancel", made);
    CHECK(done == made.is_own());
    rewritten += done;
  }
  CHECK(rewritten > 100);
}

TEST_CASE("shard slices: all-gather-to-collective-permute on random modules") {
  std::mt19937 random(2);
  int64_t rewritten = 0;
  for (int i = 0; i < 400; ++i) {
    ShardModule made = testing::random_shard_module(random, "all-gather");
    CAPTURE(i);
    CAPTURE(made.text);
    const bool done = rewrites("all-gather-to-collective-permute", made);
    if (made.has_other_users || !made.is_one_to_one) CHECK(!done);
    const bool is_line = made.mesh.replicas == 1 || made.mesh.partitions == 1;
    if (!made.has_other_users && made.is_one_to_one && (is_line || made.is_own())) CHECK(done);
    rewritten += done;
  }
  CHECK(rewritten > 100);
}

TEST_CASE("shard slices: all-reduce-slice-to-reduce-scatter on random modules") {
  std::mt19937 random(3);
  int64_t rewritten = 0, reordered = 0;
  for (int i = 0; i < 400; ++i) {
    ShardModule made = testing::random_shard_module(random, "all-reduce");
    CAPTURE(i);
    CAPTURE(made.text);
    const bool done = rewrites("all-reduce-slice-to-reduce-scatter", made);
    const bool fits = made.is_own() || (made.is_integer && made.is_one_to_one);
    CHECK(done == (fits && made.members() > 1 && !made.is_async));
    rewritten += done;
    reordered += done && !made.is_own();
  }
  CHECK(rewritten > 80);
  CHECK(reordered > 20);
}

}  // namespace
}  // namespace minihlo
