// What inject-errors breaks is noticed: where a run tells the broken module from the original, the
// prover must not call it proved, and refutes it unless it says what it does not understand.
#include <filesystem>
#include <map>

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "passes/errors/kinds.h"
#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "sim/run/simulator.h"
#include "tests/generator/generator.h"
#include "tests/passes/run_passes.h"
#include "tests/paths.h"

namespace minihlo {
namespace {

struct Injected {
  std::unique_ptr<Module> module;
  std::string kind;  // empty: there was no place
  std::string what;
};

Injected inject(const Module& module, const Mesh& mesh, uint64_t seed, std::string_view kind) {
  const std::string text = fmt::format("inject-errors{{seed={} kind={}}}", seed, kind);
  std::shared_ptr<const Source> source = Source::from_string("passes", text);
  Diagnostics diagnostics(source);
  std::optional<Pipeline> pipeline = parse_pipeline(source, diagnostics);
  REQUIRE(pipeline);
  Injected result;
  result.module = module.clone();
  PassContext context;
  context.replicas = mesh.replicas;
  context.partitions = mesh.partitions;
  auto done = run_pipeline(*result.module, *pipeline, context, true);
  INFO((done ? "" : done.error()));
  REQUIRE(done);
  if (context.entries.empty()) {
    CHECK(print_text(*result.module) == print_text(module));
    return result;
  }
  REQUIRE(context.entries.size() == 1);
  result.what = context.entries[0].reason;
  result.kind = result.what.substr(0, result.what.find(':'));
  CHECK(print_text(*result.module) != print_text(module));
  return result;
}

// Whether a run on random inputs tells the modules apart; nothing where the original can't be run.
std::optional<bool> run_differs(const Module& a, const Module& b, const Mesh& mesh, uint64_t seed) {
  auto inputs = make_inputs(a, mesh, seed, int64_t{1} << 26);
  if (!inputs) return std::nullopt;
  RunOptions options;
  options.threads = 1;
  options.max_steps = 20000;
  options.elided = ElidedConstants::kSeed;
  options.pure = true;
  auto first = simulate(a, mesh, *inputs, options);
  if (!first) return std::nullopt;
  options.max_steps *= 2;
  auto second = simulate(b, mesh, *inputs, options);
  // A loop that ends late, or never, is no difference that a run can show.
  if (!second && second.error().kind == Stop::Kind::kSteps) return std::nullopt;
  if (!second) return true;
  for (size_t device = 0; device < first->outputs.size(); ++device) {
    for (size_t leaf = 0; leaf < first->outputs[device].size(); ++leaf) {
      Difference difference =
          compare(first->outputs[device][leaf], second->outputs[device][leaf], {});
      if (difference.count > 0 || !difference.what.empty()) return true;
    }
  }
  return false;
}

struct Counts {
  std::map<std::string, int> injected;  // by kind
  int differ = 0;
  int refuted = 0;
  int proved = 0;
};

void try_on(const Module& module, const Mesh& mesh, uint64_t seed, Counts& counts) {
  Injected broken = inject(module, mesh, seed, "any");
  if (broken.kind.empty()) return;
  CAPTURE(broken.what);
  ++counts.injected[broken.kind];
  prove::EquivalenceOptions options;
  options.mesh = mesh;
  options.tests = 5;
  options.max_steps = 1 << 16;
  const prove::EquivalenceResult result = prove::check_equivalence(module, *broken.module, options);
  counts.proved += result.verdict == prove::Verdict::kProved;
  counts.refuted += result.verdict == prove::Verdict::kRefuted;
  const std::optional<bool> differs = run_differs(module, *broken.module, mesh, seed);
  if (!differs || !*differs) return;
  ++counts.differ;
  CHECK(result.verdict != prove::Verdict::kProved);
  // What can't be run on one side is bad input.
  if (!result.unsupported.empty() || result.verdict == prove::Verdict::kInvalid) return;
  CAPTURE(result.reason);
  const bool by_rounding = result.reason.find("rounding of floats only") != std::string::npos;
  CHECK((result.verdict == prove::Verdict::kRefuted || by_rounding));
}

TEST_CASE("inject-errors: what a run tells apart is never proved, in random modules") {
  Counts counts;
  for (uint64_t seed = 1; seed <= 250; ++seed) {
    CAPTURE(seed);
    generator::Choices choices(seed);
    generator::GenerateOptions options;
    options.use = generator::Use::kRunnable;
    options.size = 12;
    const generator::Generated made = generator::generate(choices, options);
    REQUIRE(made.module);
    for (uint64_t k = 0; k < 2; ++k) try_on(*made.module, made.mesh, 2 * seed + k, counts);
  }
  MESSAGE("differ: " << counts.differ << ", refuted: " << counts.refuted
                     << ", proved to be none: " << counts.proved);
  CHECK(counts.injected.size() == errors::kinds().size());
  CHECK(counts.differ > 25);
  CHECK(counts.refuted >= counts.differ * 8 / 10);
}

TEST_CASE("inject-errors: what a run tells apart is never proved, in modules of JAX") {
  Counts counts;
  const std::filesystem::path folder = testing::source_folder() / "data/jax";
  uint64_t seed = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".hlo") continue;
    CAPTURE(entry.path().string());
    std::unique_ptr<Module> module = testing::parse_module(testing::read_file(entry.path()));
    const Mesh mesh{module->replica_count(), module->num_partitions()};
    // Whole training steps take seconds.
    if (module->instruction_count() > 70) continue;
    try_on(*module, mesh, ++seed, counts);
  }
  MESSAGE("differ: " << counts.differ << ", refuted: " << counts.refuted);
  CHECK(counts.differ > 8);
  CHECK(counts.refuted >= counts.differ * 9 / 10);
}

// In every place where a kind applies, the result is another one on some device.
constexpr std::string_view kAll = R"(HloModule m, replica_count=2, num_partitions=2
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}
test {
  s = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(2)
  ROOT l = pred[] compare(i, n), direction=LT
}
step {
  s = (s32[], f32[4,4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  o = s32[] constant(1)
  j = s32[] add(i, o)
  v = f32[4,4] get-tuple-element(s), index=1
  w = f32[4,4] add(v, v)
  ROOT r = (s32[], f32[4,4]) tuple(j, w)
}
one {
  ROOT p = f32[4,4] parameter(0)
}
two {
  p = f32[4,4] parameter(0)
  ROOT n = f32[4,4] negate(p)
}
ENTRY e {
  x = f32[4,4] parameter(0)
  y = f32[4,4] parameter(1)
  q = pred[] parameter(2)
  p = f32[4,4] collective-permute(x), source_target_pairs={{0,1}}
  g = f32[4,4] all-reduce(y), channel_id=1, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=add
  h = f32[8,4] all-gather(y), channel_id=2, replica_groups={{0,1},{2,3}}, use_global_device_ids=true, dimensions={0}
  i = f32[4,4] slice(h), slice={[1:5], [0:4]}
  t = f32[4,4] transpose(i), dimensions={1,0}
  z = f32[] constant(3)
  d = f32[6,4] pad(x, z), padding=1_1x0_0
  u = u32[] replica-id()
  c = u32[] constant(0)
  f = f32[4,4] dynamic-slice(d, u, c), dynamic_slice_sizes={4,4}
  zero = s32[] constant(0)
  in = (s32[], f32[4,4]) tuple(zero, p)
  out = (s32[], f32[4,4]) while(in), condition=test, body=step
  k = f32[4,4] get-tuple-element(out), index=1
  l = f32[4,4] conditional(q, x, y), true_computation=one, false_computation=two
  m = f32[4,4] subtract(f, t)
  pair = (f32[4,4], f32[4,4]) tuple(m, g)
  first = f32[4,4] get-tuple-element(pair), index=0
  w = f32[4,4] reduce-window(k, z), window={size=2x1 pad=1_0x0_0}, to_apply=add
  o = pred[4,4] compare(w, l), direction=LT
  ROOT r = (f32[4,4], f32[4,4], f32[4,4], pred[4,4], f32[4,4]) tuple(first, g, l, o, k)
}
)";

TEST_CASE("inject-errors: every kind is noticed where it matters") {
  std::unique_ptr<Module> module = testing::parse_module(kAll);
  const Mesh mesh{2, 2};
  for (const errors::Kind& kind : errors::kinds()) {
    if (kind.name == "lost-dependency") continue;  // computes the same
    CAPTURE(std::string(kind.name));
    int refuted = 0;
    for (uint64_t seed = 1; seed <= 6; ++seed) {
      Injected broken = inject(*module, mesh, seed, kind.name);
      CHECK(broken.kind == kind.name);
      prove::EquivalenceOptions options;
      options.mesh = mesh;
      options.bits = true;
      options.tests = 3;
      options.max_steps = 1 << 16;
      const prove::Verdict verdict =
          prove::check_equivalence(*module, *broken.module, options).verdict;
      refuted += verdict == prove::Verdict::kRefuted;
      if (run_differs(*module, *broken.module, mesh, seed).value_or(false)) {
        CHECK(verdict == prove::Verdict::kRefuted);
      }
    }
    CHECK(refuted > 0);
  }
}

TEST_CASE("inject-errors: the same seed breaks the same") {
  std::unique_ptr<Module> module = testing::parse_module(kAll);
  std::map<std::string, int> kinds;
  for (uint64_t seed = 0; seed < 25; ++seed) {
    const Injected one = inject(*module, {2, 2}, seed, "any");
    const Injected other = inject(*module, {2, 2}, seed, "any");
    CHECK(one.what == other.what);
    CHECK(print_text(*one.module) == print_text(*other.module));
    ++kinds[one.kind];
  }
  CHECK(kinds.size() > 10);
}

TEST_CASE("inject-errors: where nothing fits, nothing changes") {
  std::unique_ptr<Module> module =
      testing::parse_module("HloModule m\nENTRY e {\n  ROOT x = f32[2] parameter(0)\n}\n");
  CHECK(inject(*module, {1, 1}, 1, "any").kind.empty());
  CHECK(inject(*module, {1, 1}, 1, "wrong-pair").kind.empty());
}

}  // namespace
}  // namespace minihlo
