#include <doctest/doctest.h>

#include "tests/passes/run_passes.h"

namespace minihlo {
namespace {

using testing::PassRun;
using testing::run_passes;

// The names of what is left in the entry.
std::string left(const PassRun& run) {
  CHECK(run.error == "");
  std::string names;
  for (const Instruction* one : run.module->entry()->instructions()) {
    names += (names.empty() ? "" : " ") + std::string(one->name());
  }
  return names;
}

std::string entry(std::string_view body, std::string_view header = "") {
  return "HloModule m" + std::string(header) + "\n\nENTRY e {\n  x = f32[2] parameter(0)\n" +
         std::string(body) + "  ROOT r = f32[2] negate(x)\n}\n";
}

TEST_CASE("dce: a row of unused instructions goes in one run; parameters stay") {
  CHECK(left(run_passes("dce", entry("  y = f32[2] parameter(1)\n  a = f32[2] add(x, y)\n"
                                     "  b = f32[2] multiply(a, a)\n  c = f32[2] sine(b)\n"))) ==
        "x y r");
}

TEST_CASE("dce: what has a side effect stays with all it needs") {
  CHECK(left(run_passes("dce", entry("  t = token[] after-all()\n  a = f32[2] sine(x)\n"
                                     "  o = token[] outfeed(a, t), outfeed_shape=f32[2]\n"
                                     "  b = f32[2] cosine(x)\n"))) == "x t a o r");
  CHECK(left(run_passes("dce", entry("  t = token[] after-all()\n"
                                     "  i = (f32[2], token[]) infeed(t)\n"))) == "x t i r");
  CHECK(left(run_passes("dce",
                        entry("  t = token[] after-all()\n"
                              "  s = (f32[2], u32[], token[]) send(x, t), channel_id=1\n"
                              "  d = token[] send-done(s), channel_id=1\n"),
                        false)) == "x t s d r");
  CHECK(left(run_passes("dce", entry("  c = f32[2] custom-call(x), custom_call_target=\"f\"\n"))) ==
        "x r");
  CHECK(left(run_passes("dce", entry("  c = f32[2] custom-call(x), custom_call_target=\"f\", "
                                     "custom_call_has_side_effect=true\n"))) == "x c r");
  CHECK(left(run_passes("dce", entry("  s = u64[2] rng-get-and-update-state(), delta=1\n"))) ==
        "x s r");
}

TEST_CASE("dce: collectives stay where XLA keeps them") {
  const std::string permute =
      "  p = f32[2] collective-permute(x), channel_id=1, source_target_pairs={{0,1}}\n";
  CHECK(left(run_passes("dce", entry(permute, ", num_partitions=2"))) == "x r");
  CHECK(left(run_passes("dce", entry(permute), false)) == "x p r");
  CHECK(left(run_passes("dce", entry(permute), false, 0, 2)) == "x r");
  const std::string gather = "  g = f32[4] all-gather(x), replica_groups={{0,1}}, dimensions={0}";
  CHECK(left(run_passes("dce", entry(gather + "\n", ", replica_count=2"))) == "x r");
  CHECK(left(run_passes("dce", entry(gather + ", constrain_layout=true\n", ", replica_count=2"))) ==
        "x g r");
  CHECK(left(run_passes(
            "dce", entry("  s = (f32[2], f32[2]) collective-permute-start(x), channel_id=1, "
                         "source_target_pairs={{0,1}}\n  d = f32[2] collective-permute-done(s)\n",
                         ", num_partitions=2"))) == "x s d r");
}

TEST_CASE("dce: what is begun is ended, though nobody uses it") {
  CHECK(
      left(run_passes("dce", entry("  s = ((f32[2]), f32[1], u32[]) slice-start(x), slice={[0:1]}, "
                                   "control-predecessors={x}\n"
                                   "  u = ((f32[2]), f32[1], u32[]) slice-update(s)\n"
                                   "  d = f32[1] slice-done(u)\n"))) == "x s u d r");
  CHECK(left(run_passes("dce", entry("  s = (f32[2], f32[2], u32[]) copy-start(x), "
                                     "control-predecessors={x}\n"
                                     "  d = f32[2] copy-done(s)\n"))) == "x s d r");
  CHECK(left(run_passes("dce", entry("  s = (f32[2], f32[2], u32[]) copy-start(x)\n"
                                     "  d = f32[2] copy-done(s)\n"))) == "x r");
}

TEST_CASE("dce: control dependencies hold both sides") {
  CHECK(left(run_passes("dce", entry("  a = f32[2] sine(x)\n"
                                     "  b = f32[2] cosine(x), control-predecessors={a}\n"
                                     "  c = f32[2] sine(b)\n"))) == "x a b r");
}

constexpr std::string_view kCalls = R"(HloModule m

inner {
  p = f32[2] parameter(0)
  t = token[] after-all()
  o = token[] outfeed(p, t), outfeed_shape=f32[2]
  ROOT n = f32[2] negate(p)
}

middle {
  q = f32[2] parameter(0)
  ROOT c = f32[2] call(q), to_apply=inner
}

pure {
  v = f32[2] parameter(0)
  w = f32[2] call(v), to_apply=helper_
  ROOT k = f32[2] negate(v)
}

ENTRY e {
  x = f32[2] parameter(0)
  a = f32[2] call(x), to_apply=middle
  b = f32[2] call(x), to_apply=pure
  ROOT r = f32[2] negate(x)
}
)";

TEST_CASE("dce: calls of what has effects inside stay, computations that nothing calls go") {
  std::string text(kCalls);
  text.insert(text.find("inner {"),
              "helper_ {\n  h = f32[2] parameter(0)\n"
              "  ROOT i = f32[2] negate(h)\n}\n\n");
  PassRun run = run_passes("dce", text);
  CHECK(left(run) == "x a r");
  REQUIRE(run.module->computations().size() == 3);
  CHECK(run.module->computations()[0]->name() == "inner");
  CHECK(run.module->computations()[1]->name() == "middle");
  CHECK(run.log.back() == "dce: instructions removed: 2, computations removed: 2");
}

TEST_CASE("dce: nothing to remove leaves the text as it is") {
  std::string text = entry("");
  std::string before = run_passes("dce", text).text();
  CHECK(run_passes("dce,dce", text).text() == before);
}

}  // namespace
}  // namespace minihlo
