// What a run is said to need beforehand, and what it then takes.
#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "sim/cost/memory.h"
#include "tests/generator/generator.h"
#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

struct Peaks {
  int64_t predicted, actual;
};

Peaks peaks(const char* text, const Mesh& mesh) {
  std::unique_ptr<Module> module = testing::parsed(text);
  RunOptions options;
  auto predicted = predict_memory(*module, mesh, options.cluster_elements);
  auto inputs = make_inputs(*module, mesh, 1, int64_t{1} << 30);
  REQUIRE(predicted);
  REQUIRE(inputs);
  auto result = simulate(*module, mesh, *inputs, options);
  REQUIRE(result);
  return {predicted->peak, result->stats.peak_memory};
}

TEST_CASE("memory: what is predicted is what a run takes") {
  for (const char* text : {
           // In place.
           "HloModule m\nENTRY e {\n  a = f32[1000] parameter(0)\n  b = f32[1000] negate(a)\n"
           "  c = f32[1000] abs(b)\n  ROOT d = f32[1000] add(c, a)\n}\n",
           // Together.
           "HloModule m\nENTRY e {\n  a = f32[10000] parameter(0)\n  b = f32[10000] negate(a)\n"
           "  c = f32[10000] abs(b)\n  ROOT d = f32[10000] add(c, a)\n}\n",
           "HloModule m\nENTRY e {\n  a = f32[40,50] parameter(0)\n"
           "  t = f32[50,40] transpose(a), dimensions={1,0}\n"
           "  ROOT d = f32[40,40] dot(a, t), lhs_contracting_dims={1}, "
           "rhs_contracting_dims={0}\n}\n",
           "HloModule m\nENTRY e {\n  a = f32[1000] parameter(0)\n"
           "  g = f32[4000] all-gather(a), replica_groups={{0,1,2,3}}, dimensions={0}\n"
           "  ROOT p = f32[4000] collective-permute(g), source_target_pairs={{0,1},{1,2},{2,3},"
           "{3,0}}\n}\n",
       }) {
    CAPTURE(text);
    const Peaks found = peaks(text, {4, 1});
    CHECK(found.predicted == found.actual);
  }
}

TEST_CASE("memory: loops and branches that depend on values count with their largest part") {
  const Peaks found = peaks(R"(HloModule m
cond { s = (s32[], f32[3000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(4)
  ROOT t = pred[] compare(i, n), direction=LT }
large { x = f32[3000] parameter(0)
  r = f32[30,100] reshape(x)
  t = f32[100,30] transpose(r), dimensions={1,0}
  u = f32[3000] reshape(t)
  ROOT a = f32[3000] add(u, x) }
small { x = f32[3000] parameter(0)
  ROOT n = f32[3000] negate(x) }
body { s = (s32[], f32[3000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[3000] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  test = pred[] compare(i, one), direction=EQ
  y = f32[3000] conditional(test, x, x), true_computation=large, false_computation=small
  ROOT r = (s32[], f32[3000]) tuple(j, y) }
ENTRY e {
  x = f32[3000] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[3000]) tuple(zero, x)
  w = (s32[], f32[3000]) while(s), condition=cond, body=body
  ROOT r = f32[3000] get-tuple-element(w), index=1
})",
                            {2, 1});
  CHECK(found.predicted >= found.actual);
  CHECK(found.predicted <= 2 * found.actual);
}

TEST_CASE("memory: sizes beyond all bounds are counted") {
  std::unique_ptr<Module> module = testing::parsed(
      "HloModule m\nENTRY e {\n  a = f32[1073741824,1073741824] parameter(0)\n"
      "  ROOT b = f32[1073741824,1073741824] negate(a)\n}\n");
  auto predicted = predict_memory(*module, {1024, 1}, 4096);
  REQUIRE(predicted);
  CHECK(predicted->peak == std::numeric_limits<int64_t>::max());
}

TEST_CASE("memory: branches that nest without end are given up") {
  std::string text = "HloModule m\nc0 { x = f32[] parameter(0)\n  ROOT r = f32[] negate(x) }\n";
  for (int i = 1; i < 40; ++i) {
    text += fmt::format(
        "c{0} {{ x = f32[] parameter(0)\n  z = f32[] constant(0)\n"
        "  p = pred[] compare(x, z), direction=GT\n  ROOT r = f32[] conditional(p, x, x), "
        "true_computation=c{1}, false_computation=c{1} }}\n",
        i, i - 1);
  }
  text += "ENTRY e { x = f32[] parameter(0)\n  ROOT r = f32[] call(x), to_apply=c39 }\n";
  std::unique_ptr<Module> module = testing::parsed(text);
  auto predicted = predict_memory(*module, {1, 1}, 4096);
  REQUIRE(!predicted);
  CHECK(predicted.error().kind == Stop::Kind::kSteps);
}

TEST_CASE("memory: random modules need about what is predicted") {
  std::vector<double> ratios;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    generator::Choices choices(seed);
    generator::GenerateOptions choice;
    choice.use = generator::Use::kRunnable;
    choice.size = 16;
    generator::Generated made = generator::generate(choices, choice);
    RunOptions options;
    options.max_steps = 100000;
    options.elided = ElidedConstants::kSeed;
    auto predicted = predict_memory(*made.module, made.mesh, options.cluster_elements);
    auto inputs = make_inputs(*made.module, made.mesh, seed, int64_t{1} << 28);
    if (!inputs) continue;
    auto result = simulate(*made.module, made.mesh, *inputs, options);
    if (!result || !predicted) continue;
    ratios.push_back(static_cast<double>(predicted->peak) /
                     static_cast<double>(std::max<int64_t>(1, result->stats.peak_memory)));
  }
  REQUIRE(ratios.size() > 100);
  std::ranges::sort(ratios);
  CHECK(ratios[ratios.size() / 2] > 0.7);
  CHECK(ratios[ratios.size() / 2] < 1.5);
}

}  // namespace
}  // namespace minihlo
