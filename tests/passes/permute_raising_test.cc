// Lowering permutes to all-gathers and raising them again gives back the module.
#include <functional>
#include <random>

#include <doctest/doctest.h>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "tests/passes/partial_permutations.h"
#include "tests/passes/run_passes.h"
#include "tests/passes/same_modules.h"

namespace minihlo {
namespace {

using Pairs = std::vector<SourceTarget>;

constexpr std::string_view kRaise = "all-gather-to-collective-permute";

Pipeline pipeline(std::string_view text) {
  auto source = Source::from_string("passes", std::string(text));
  Diagnostics diagnostics(source);
  std::optional<Pipeline> parsed = parse_pipeline(source, diagnostics);
  INFO(diagnostics.to_string());
  REQUIRE(parsed);
  return *std::move(parsed);
}

std::string pairs_text(const Pairs& pairs) {
  std::string text;
  for (const SourceTarget& pair : pairs) {
    text += fmt::format("{}{{{},{}}}", text.empty() ? "" : ",", pair.source, pair.target);
  }
  return text;
}

// One permute of each kind: plain, of several operands, of scalars, start and done, in a row, in a
// computation that is called.
std::string module_text(const Mesh& mesh, bool partitions, const Pairs& pairs) {
  const std::string attributes = fmt::format("{}source_target_pairs={{{}}}",
                                             partitions ? "channel_id=1, " : "", pairs_text(pairs));
  return fmt::format(R"(HloModule m, replica_count={0}, num_partitions={1}

called {{
  y = u8[3] parameter(0)
  ROOT r = u8[3] collective-permute(y), {2}, metadata={{op_name="inner"}}
}}

ENTRY e {{
  x = f32[2,3] parameter(0)
  s = s32[] parameter(1)
  z = bf16[0,4] parameter(2)
  y = u8[3] parameter(3)
  p = f32[2,3] collective-permute(x), {2}, metadata={{op_name="p"}}, frontend_attributes={{a="b"}}
  q = f32[2,3] collective-permute(p), {2}
  c = s32[] collective-permute(s), {2}
  v = (f32[2,3], s32[], bf16[0,4]) collective-permute(q, s, z), {2}, metadata={{op_name="v"}}
  start = (f32[2,3], f32[2,3]) collective-permute-start(x), {2}
  n = f32[2,3] negate(x), control-predecessors={{start}}
  done = f32[2,3] collective-permute-done(start), control-predecessors={{n}}
  starts = ((s32[], u8[3]), (s32[], u8[3])) collective-permute-start(s, y), {2}
  m = s32[] negate(s), control-predecessors={{starts}}
  dones = (s32[], u8[3]) collective-permute-done(starts), control-predecessors={{m}}
  k = u8[3] call(y), to_apply=called
  one = f32[2,3] collective-permute(x), {2}
  other = s32[] collective-permute(s), {2}
  both = (f32[2,3], s32[]) tuple(one, other)
  ROOT t = (f32[2,3], s32[], (f32[2,3], s32[], bf16[0,4]), f32[2,3], (s32[], u8[3]), u8[3], (f32[2,3], s32[])) tuple(q, c, v, done, dones, k, both)
}}
)",
                     mesh.replicas, mesh.partitions, attributes);
}

class RoundTrip {
 public:
  int64_t runs = 0;

  void run(const Mesh& mesh, bool partitions, const Pairs& pairs) {
    ++runs;
    std::unique_ptr<Module> original = testing::parse_module(module_text(mesh, partitions, pairs));
    for (const Pipeline* lower : {&global_, &orbits_}) {
      std::unique_ptr<Module> module = original->clone();
      PassContext context;
      REQUIRE(run_pipeline(*module, *lower, context, false));
      std::unique_ptr<Module> before = original->clone();
      REQUIRE(run_pipeline(*module, raise_, context, true));
      REQUIRE(testing::normalized_text(*before) == testing::normalized_text(*module));
    }
  }

 private:
  Pipeline global_ = pipeline("collective-permute-to-all-gather");
  Pipeline orbits_ = pipeline("collective-permute-to-all-gather{groups=orbits}");
  Pipeline raise_ = pipeline(kRaise);
};

TEST_CASE("permute raising: every partial permutation of up to 5 ids comes back") {
  RoundTrip trip;
  for (int64_t ids = 1; ids <= 5; ++ids) {
    testing::each_partial_permutation(ids, [&](const Pairs& pairs) {
      trip.run({ids, 1}, false, pairs);
      trip.run({1, ids}, true, pairs);
    });
  }
  CHECK(trip.runs == 2 * (2 + 7 + 34 + 209 + 1546));
}

TEST_CASE("permute raising: replicas and partitions together") {
  RoundTrip trip;
  for (auto [replicas, partitions] : {std::pair{2, 3}, {3, 2}, {1, 3}, {3, 1}}) {
    testing::each_partial_permutation(replicas, [&](const Pairs& pairs) {
      trip.run({replicas, partitions}, false, pairs);
    });
    testing::each_partial_permutation(partitions, [&](const Pairs& pairs) {
      trip.run({replicas, partitions}, true, pairs);
    });
  }
  CHECK(trip.runs == 2 * (7 + 34) + 2 * (2 + 34));
}

TEST_CASE("permute raising: random partial permutations of many ids") {
  RoundTrip trip;
  std::mt19937 random(20);
  for (int i = 0; i < 40; ++i) {
    const int64_t ids = 6 + static_cast<int64_t>(random() % 123);
    std::vector<int64_t> sources(static_cast<size_t>(ids));
    for (int64_t id = 0; id < ids; ++id) sources[static_cast<size_t>(id)] = id;
    std::shuffle(sources.begin(), sources.end(), random);
    const auto kept = random() % 4;
    Pairs pairs;
    for (int64_t id = 0; id < ids; ++id) {
      if (random() % 4 <= kept) pairs.push_back({sources[static_cast<size_t>(id)], id});
    }
    trip.run(i % 2 == 0 ? Mesh{ids, 1} : Mesh{2, ids}, i % 2 == 1, pairs);
  }
  CHECK(trip.runs == 40);
}

}  // namespace
}  // namespace minihlo
