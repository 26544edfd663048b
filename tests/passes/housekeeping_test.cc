// Passes that keep house: cse, inline, flatten-tuples, constant-fold, algebraic-simplify and
// while-unroll leave what is computed as it is. Random modules go through each; the prover must not
// refute, and a run must give the same bits, those of NaN too.
#include <algorithm>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/text/printer.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "sim/run/simulator.h"
#include "tests/generator/generator.h"
#include "tests/passes/run_passes.h"

namespace minihlo {
namespace {

using testing::PassRun;
using testing::run_passes;

Pipeline parsed(std::string_view text) {
  std::shared_ptr<const Source> source = Source::from_string("passes", std::string(text));
  Diagnostics diagnostics(source);
  std::optional<Pipeline> result = parse_pipeline(source, diagnostics);
  REQUIRE(result);
  return *result;
}

struct Counts {
  int changed = 0;
  int proved = 0;
  int run = 0;
};

void try_on(const generator::Generated& made, const Pipeline& pipeline, uint64_t seed,
            Counts& counts) {
  std::unique_ptr<Module> after = made.module->clone();
  PassContext context;
  context.replicas = made.mesh.replicas;
  context.partitions = made.mesh.partitions;
  auto done = run_pipeline(*after, pipeline, context, true);
  INFO((done ? "" : done.error()));
  REQUIRE(done);
  if (print_text(*after) == print_text(*made.module)) return;
  ++counts.changed;
  prove::EquivalenceOptions options;
  options.mesh = made.mesh;
  options.tests = 3;
  options.max_steps = 1 << 18;
  const prove::Verdict verdict = prove::check_equivalence(*made.module, *after, options).verdict;
  CHECK(verdict != prove::Verdict::kRefuted);
  counts.proved += verdict == prove::Verdict::kProved;
  auto inputs = make_inputs(*made.module, made.mesh, seed, int64_t{1} << 26);
  if (!inputs) return;
  RunOptions run_options;
  run_options.threads = 1;
  run_options.max_steps = 100000;
  run_options.elided = ElidedConstants::kSeed;
  run_options.pure = true;
  auto a = simulate(*made.module, made.mesh, *inputs, run_options);
  if (!a) return;
  run_options.max_steps *= 4;
  auto b = simulate(*after, made.mesh, *inputs, run_options);
  REQUIRE(b);
  ++counts.run;
  CompareRule bits;
  bits.nan_payload = true;
  for (size_t device = 0; device < a->outputs.size(); ++device) {
    for (size_t leaf = 0; leaf < a->outputs[device].size(); ++leaf) {
      Difference difference = compare(a->outputs[device][leaf], b->outputs[device][leaf], bits);
      CHECK(difference.what == "");
      CHECK(difference.count == 0);
    }
  }
}

TEST_CASE("housekeeping: random modules stay what they are") {
  const std::string pipelines[] = {
      "cse",
      "inline",
      "inline{fusions=true},cse",
      "constant-fold",
      "algebraic-simplify",
      "flatten-tuples",
      "while-unroll",
      "while-unroll{limit=1 factor=2}",
      "flatten-tuples,inline{fusions=true},while-unroll,algebraic-simplify,constant-fold,cse,dce",
  };
  Counts all[std::size(pipelines)];
  for (uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    generator::Choices choices(seed);
    generator::GenerateOptions options;
    options.use = generator::Use::kRunnable;
    options.size = 14;
    const generator::Generated made = generator::generate(choices, options);
    REQUIRE(made.module);
    for (size_t i = 0; i < std::size(pipelines); ++i) {
      CAPTURE(pipelines[i]);
      try_on(made, parsed(pipelines[i]), seed, all[i]);
    }
  }
  for (size_t i = 0; i < std::size(pipelines); ++i) {
    CAPTURE(pipelines[i]);
    if (pipelines[i] == "flatten-tuples") continue;
    CHECK(all[i].changed >= 10);
    CHECK(all[i].proved > all[i].changed / 2 - 1);
    CHECK(all[i].run >= 8);
  }
}

// Calls of calls, loops and conditionals whose tuples nest.
TEST_CASE("flatten-tuples: nested tuples through loops, calls and conditionals are proved") {
  const std::string text = R"(HloModule m
inner {
  s = (f32[2], ((s32[], f32[2]), ())) parameter(0)
  a = f32[2] get-tuple-element(s), index=0
  t = ((s32[], f32[2]), ()) get-tuple-element(s), index=1
  u = (s32[], f32[2]) get-tuple-element(t), index=0
  b = f32[2] get-tuple-element(u), index=1
  i = s32[] get-tuple-element(u), index=0
  c = f32[2] add(a, b)
  v = (s32[], f32[2]) tuple(i, c)
  e = () get-tuple-element(t), index=1
  w = ((s32[], f32[2]), ()) tuple(v, e)
  ROOT r = (f32[2], ((s32[], f32[2]), ())) tuple(b, w)
}
body {
  s = (s32[], (f32[2], ((s32[], f32[2]), ()))) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  t = (f32[2], ((s32[], f32[2]), ())) get-tuple-element(s), index=1
  c = (f32[2], ((s32[], f32[2]), ())) call(t), to_apply=inner
  ROOT r = (s32[], (f32[2], ((s32[], f32[2]), ()))) tuple(j, c)
}
test {
  s = (s32[], (f32[2], ((s32[], f32[2]), ()))) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(5)
  ROOT r = pred[] compare(i, n), direction=LT
}
other {
  s = (f32[2], ((s32[], f32[2]), ())) parameter(0)
  ROOT r = (f32[2], ((s32[], f32[2]), ())) call(s), to_apply=inner
}
ENTRY e {
  x = f32[2] parameter(0)
  y = ((s32[], f32[2]), ()) parameter(1)
  p = pred[] parameter(2)
  zero = s32[] constant(0)
  t = (f32[2], ((s32[], f32[2]), ())) tuple(x, y)
  s = (s32[], (f32[2], ((s32[], f32[2]), ()))) tuple(zero, t)
  l = (s32[], (f32[2], ((s32[], f32[2]), ()))) while(s), condition=test, body=body
  k = (f32[2], ((s32[], f32[2]), ())) get-tuple-element(l), index=1
  ROOT r = (f32[2], ((s32[], f32[2]), ())) conditional(p, k, t), true_computation=other, false_computation=inner
}
)";
  std::unique_ptr<Module> before = testing::parse_module(text);
  for (const char* passes :
       {"flatten-tuples", "flatten-tuples,algebraic-simplify,dce",
        "flatten-tuples,while-unroll,inline,algebraic-simplify,constant-fold,cse,dce",
        "while-unroll{limit=0 factor=2}"}) {
    CAPTURE(std::string(passes));
    std::unique_ptr<Module> after = before->clone();
    PassContext context;
    REQUIRE(run_pipeline(*after, parsed(passes), context, true));
    for (const Computation* computation : after->computations()) {
      if (computation == after->entry() || std::string_view(passes).find("flat") != 0) continue;
      for (const Instruction* parameter : computation->parameters()) {
        CHECK(parameter->shape()->depth() <= 1);
      }
      CHECK(computation->root()->shape()->depth() <= 1);
    }
    prove::EquivalenceOptions options;
    CHECK(prove::check_equivalence(*before, *after, options).verdict == prove::Verdict::kProved);
  }
}

TEST_CASE("cse: collectives are merged only where nobody else can be met between them") {
  auto text = [](std::string_view where) {
    std::string entry = where == "entry" ? "work" : "other";
    return fmt::format(R"(HloModule m, num_partitions=2
add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}
work {{
  x = f32[2] parameter(0)
  a = f32[2] all-reduce(x), channel_id=1, replica_groups={{{{0,1}}}}, use_global_device_ids=true, to_apply=add
  b = f32[2] all-reduce(x), channel_id=2, replica_groups={{{{0,1}}}}, use_global_device_ids=true, to_apply=add
  ROOT r = f32[2] multiply(a, b)
}}
other {{
  x = f32[2] parameter(0)
  ROOT r = f32[2] negate(x)
}}
ENTRY e {{
  x = f32[2] parameter(0)
  p = pred[] parameter(1)
  ROOT r = f32[2] {}
}}
)",
                       entry == "work" ? "call(x), to_apply=work"
                                       : "conditional(p, x, x), true_computation=work, "
                                         "false_computation=other");
  };
  CHECK(run_passes("cse", text("entry")).all(Opcode::kAllReduce).size() == 1);
  const PassRun apart = run_passes("cse", text("branch"));
  CHECK(apart.all(Opcode::kAllReduce).size() == 2);
  REQUIRE(apart.entries.size() == 1);
  CHECK(apart.entries[0].reason ==
        "not all devices need come by, so it may meet another collective");
}

TEST_CASE("inline: what has no channel and is met by place stays in one place") {
  const std::string text = R"(HloModule m, replica_count=2
work {
  x = f32[2] parameter(0)
  ROOT a = f32[2] collective-permute(x), source_target_pairs={{0,1},{1,0}}
}
one {
  x = f32[2] parameter(0)
  ROOT a = f32[2] call(x), to_apply=work
}
two {
  x = f32[2] parameter(0)
  n = f32[2] negate(x)
  ROOT a = f32[2] call(n), to_apply=work
}
ENTRY e {
  x = f32[2] parameter(0)
  id = u32[] replica-id()
  zero = u32[] constant(0)
  p = pred[] compare(id, zero), direction=EQ
  ROOT r = f32[2] conditional(p, x, x), true_computation=one, false_computation=two
}
)";
  const PassRun run = run_passes("inline", text);
  CHECK(run.all(Opcode::kCall).size() == 2);
  REQUIRE(run.entries.size() == 2);
  CHECK(run.entries[0].reason ==
        "devices that come from different calls meet in it, and have no channel");
}

}  // namespace
}  // namespace minihlo
