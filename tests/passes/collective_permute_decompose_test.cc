// collective-permute-decompose on every partial permutation of up to four ids, and on random ones:
// no pairs are left that form a cycle, and what comes out is what was there, bit for bit.
#include <functional>

#include <doctest/doctest.h>

#include "ir/semantics/groups.h"
#include "tests/passes/partial_permutations.h"
#include "tests/passes/random_groups.h"
#include "tests/passes/run_passes.h"
#include "tests/passes/same_outputs.h"

namespace minihlo {
namespace {

using testing::below;
using testing::Outcome;
using testing::Random;

using Pairs = std::vector<SourceTarget>;

std::string pairs_text(const Pairs& pairs) {
  std::string text;
  for (const auto& [source, target] : pairs) {
    text += fmt::format("{}{{{},{}}}", text.empty() ? "" : ",", source, target);
  }
  return "{" + text + "}";
}

template <class PairList>
bool has_cycle(const PairList& pairs, const std::function<int64_t(size_t)>& source,
               const std::function<int64_t(size_t)>& target) {
  for (size_t start = 0; start < pairs.size(); ++start) {
    int64_t at = target(start);
    for (size_t steps = 0; steps <= pairs.size(); ++steps) {
      if (at == source(start)) return true;
      for (size_t i = 0; i < pairs.size(); ++i) {
        if (source(i) == at) {
          at = target(i);
          break;
        }
      }
    }
  }
  return false;
}

bool has_cycle(const Pairs& pairs) {
  return has_cycle(
      pairs, [&](size_t i) { return pairs[i].source; }, [&](size_t i) { return pairs[i].target; });
}

void check_no_cycles(const std::string& text) {
  std::unique_ptr<Module> module = testing::parse_module(text);
  for (const Computation* computation : module->computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!has_source_target_pairs(*instruction)) continue;
      auto pairs = source_target_pairs(*instruction);
      REQUIRE(pairs);
      REQUIRE(!has_cycle(
          *pairs, [&](size_t i) { return (*pairs)[i].source; },
          [&](size_t i) { return (*pairs)[i].target; }));
    }
  }
}

std::string module_text(const Mesh& mesh, bool partitions, const Pairs& pairs) {
  return fmt::format(R"(HloModule m, replica_count={}, num_partitions={}

ENTRY e {{
  x = f32[2] parameter(0)
  y = s8[] parameter(1)
  p = f32[2] collective-permute(x), {}source_target_pairs={}
  q = (f32[2], s8[]) collective-permute(p, y), {}source_target_pairs={}
  g = s8[] get-tuple-element(q), index=1
  s = (s8[], s8[]) collective-permute-start(g), {}source_target_pairs={}
  d = s8[] collective-permute-done(s)
  ROOT t = (f32[2], (f32[2], s8[]), s8[]) tuple(p, q, d)
}}
)",
                     mesh.replicas, mesh.partitions, partitions ? "channel_id=3, " : "",
                     pairs_text(pairs), partitions ? "channel_id=3, " : "", pairs_text(pairs),
                     partitions ? "channel_id=3, " : "", pairs_text(pairs));
}

void check(const Mesh& mesh, bool partitions, const Pairs& pairs) {
  for (const bool send_recv : {false, true}) {
    const Outcome outcome = testing::compare_outputs(
        send_recv ? "collective-permute-decompose{form=send-recv}" : "collective-permute-decompose",
        module_text(mesh, partitions, pairs));
    REQUIRE(outcome.entries.size() == 3);
    REQUIRE(outcome.difference == "");
    REQUIRE(outcome.proof.verdict == prove::Verdict::kProved);
    REQUIRE(outcome.all_rewritten() == (has_cycle(pairs) || (send_recv && !pairs.empty())));
    const bool permutes = outcome.text.find("collective-permute") != std::string::npos;
    REQUIRE(permutes == (pairs.empty() || (!send_recv && !std::ranges::all_of(pairs, [](auto pair) {
                           return pair.source == pair.target;
                         }))));
    check_no_cycles(outcome.text);
  }
}

TEST_CASE("permute decompose: every partial permutation of up to 3 ids") {
  for (int64_t ids = 1; ids <= 3; ++ids) {
    testing::each_partial_permutation(ids, [&](const Pairs& pairs) {
      check({ids, 1}, false, pairs);
      check({1, ids}, true, pairs);
    });
  }
}

TEST_CASE("permute decompose: random pairs on both axes of a mesh") {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    const Mesh mesh{1 + below(random, 4), 2 + below(random, 6)};
    const bool partitions = below(random, 2) == 0;
    const int64_t ids = partitions ? mesh.partitions : mesh.replicas;
    std::vector<int64_t> targets(static_cast<size_t>(ids));
    std::iota(targets.begin(), targets.end(), 0);
    std::shuffle(targets.begin(), targets.end(), random);
    Pairs pairs;
    for (int64_t id = 0; id < ids; ++id) {
      if (below(random, 6) > 0) pairs.push_back({id, targets[static_cast<size_t>(id)]});
    }
    std::shuffle(pairs.begin(), pairs.end(), random);
    check(mesh, partitions, pairs);
  }
}

TEST_CASE("permute decompose: what is left alone, and why") {
  const auto reason = [](const std::string& pipeline, const std::string& lines) {
    testing::PassRun run = testing::run_passes(
        pipeline, "HloModule m, num_partitions=3\nENTRY e {\n  x = f32[2] parameter(0)\n  " +
                      lines + "\n}\n");
    REQUIRE(run.error == "");
    REQUIRE(run.entries.size() == 1);
    return run.entries[0].reason;
  };
  const std::string name = "collective-permute-decompose";
  const std::string permute = "ROOT r = f32[2] collective-permute(x), channel_id=1, ";
  CHECK(reason(name, permute + "source_target_pairs={{0,1},{1,2}}") == "its pairs form no cycle");
  CHECK(reason(name + "{form=send-recv}", permute + "source_target_pairs={}") == "it has no pairs");
  CHECK(reason(name + "{threshold=9}", permute + "source_target_pairs={{0,1},{1,0}}") ==
        "it moves 8 bytes, less than the threshold");
  CHECK(reason(name + "{threshold=8}", permute + "source_target_pairs={{0,1},{1,0}}") == "");
}

}  // namespace
}  // namespace minihlo
