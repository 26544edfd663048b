// Verdicts: pairs of modules with the answer that is right, one or more for each rule and verdict.
#include "sim/prove/equivalence.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <limits>
#include <sstream>

#include "ir/text/parser.h"
#include "passes/pipeline.h"
#include "sim/prove/precision.h"
#include "tests/passes/run_passes.h"
#include "tests/paths.h"

namespace minihlo {
namespace {

using prove::EquivalenceOptions;
using prove::EquivalenceResult;
using prove::Verdict;

std::unique_ptr<Module> parse(std::string_view text, std::shared_ptr<ShapePool> shapes = nullptr) {
  auto source = Source::from_string("test", std::string(text));
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics, {std::move(shapes)});
  INFO(diagnostics.to_string());
  REQUIRE(module);
  return module;
}

EquivalenceResult compare(std::string_view before, std::string_view after, Mesh mesh = {},
                          EquivalenceOptions options = {}) {
  std::unique_ptr<Module> a = parse(before);
  std::unique_ptr<Module> b = parse(after, a->shape_pool());
  CHECK(testing::verifier_errors(*a, mesh.replicas, mesh.partitions) == "");
  CHECK(testing::verifier_errors(*b, mesh.replicas, mesh.partitions) == "");
  options.mesh = mesh;
  return prove::check_equivalence(*a, *b, options);
}

std::string verdict(std::string_view before, std::string_view after, Mesh mesh = {}) {
  return std::string(to_string(compare(before, after, mesh).verdict));
}

// The body of an entry computation that takes x and y.
std::string entry(std::string_view body, std::string_view shape = "s32[4,3]") {
  return fmt::format(
      "HloModule m\n\nadd {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
      "  ROOT c = s32[] add(a, b)\n}}\n\n"
      "ENTRY e {{\n  x = {0} parameter(0)\n  y = {0} parameter(1)\n{1}}}\n",
      shape, body);
}

std::string pair(std::string_view before, std::string_view after,
                 std::string_view shape = "s32[4,3]") {
  return verdict(entry(before, shape), entry(after, shape));
}

TEST_CASE("equivalence: the pairs of data/equiv") {
  std::ifstream index(testing::data_file("equiv/index.tsv"));
  std::string line;
  int pairs = 0, decided = 0;
  while (std::getline(index, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::string name = line.substr(0, line.find('\t')), accepted = line.substr(name.size() + 1);
    accepted = " " + accepted.substr(0, accepted.find('\t')) + " ";
    CAPTURE(name);
    auto read = [&](const char* file) {
      std::ifstream in(testing::data_file("equiv/" + name + "/" + file));
      return std::string(std::istreambuf_iterator<char>(in), {});
    };
    std::unique_ptr<Module> before = parse(read("before.hlo"));
    std::unique_ptr<Module> after = parse(read("after.hlo"), before->shape_pool());
    EquivalenceOptions options;
    options.mesh = {before->replica_count(), before->num_partitions()};
    EquivalenceResult result = prove::check_equivalence(*before, *after, options);
    std::string got = fmt::format(" {} ", to_string(result.verdict));
    CAPTURE(got);
    CHECK(accepted.find(got) != std::string::npos);
    decided += result.verdict != Verdict::kTested && result.verdict != Verdict::kUnsupported;
    ++pairs;
  }
  CHECK(pairs == 30);
  CHECK(decided >= 29);
}

TEST_CASE("movement: shapes and detours do not matter, places do") {
  CHECK(pair("  t = s32[3,4] transpose(x), dimensions={1,0}\n"
             "  ROOT r = s32[4,3] transpose(t), dimensions={1,0}\n",
             "  ROOT r = s32[4,3] copy(x)\n") == "proved");
  CHECK(pair("  ROOT r = s32[4,3] reverse(x), dimensions={0}\n",
             "  a = s32[1,3] slice(x), slice={[3:4], [0:3]}\n"
             "  b = s32[1,3] slice(x), slice={[2:3], [0:3]}\n"
             "  c = s32[1,3] slice(x), slice={[1:2], [0:3]}\n"
             "  d = s32[1,3] slice(x), slice={[0:1], [0:3]}\n"
             "  ROOT r = s32[4,3] concatenate(a, b, c, d), dimensions={0}\n") == "proved");
  CHECK(pair("  ROOT r = s32[4,3] reverse(x), dimensions={0}\n",
             "  ROOT r = s32[4,3] reverse(x), dimensions={1}\n") == "refuted");
  CHECK(pair("  t = s32[3,4] transpose(x), dimensions={1,0}\n"
             "  ROOT r = s32[4,3] reshape(t)\n",
             "  ROOT r = s32[4,3] copy(x)\n") == "refuted");
}

TEST_CASE("lifting: what works element by element goes through movement") {
  CHECK(pair("  s = s32[2,3] slice(x), slice={[1:3], [0:3]}\n"
             "  t = s32[2,3] slice(y), slice={[1:3], [0:3]}\n"
             "  ROOT r = s32[2,3] subtract(s, t)\n",
             "  d = s32[4,3] subtract(x, y)\n"
             "  ROOT r = s32[2,3] slice(d), slice={[1:3], [0:3]}\n") == "proved");
  // Too large for elements one by one, so only lifting can tell.
  CHECK(pair("  t = s32[3000,2000] transpose(x), dimensions={1,0}\n"
             "  u = s32[3000,2000] transpose(y), dimensions={1,0}\n"
             "  ROOT r = s32[3000,2000] multiply(t, u)\n",
             "  d = s32[2000,3000] multiply(x, y)\n"
             "  ROOT r = s32[3000,2000] transpose(d), dimensions={1,0}\n",
             "s32[2000,3000]") == "proved");
  CHECK(pair("  d = s32[2000,3000] subtract(x, y)\n"
             "  ROOT r = s32[2000,3000] reverse(d), dimensions={0}\n",
             "  z = s32[2000,3000] reverse(y), dimensions={0}\n"
             "  ROOT r = s32[2000,3000] subtract(x, z)\n",
             "s32[2000,3000]") == "refuted");
}

TEST_CASE("commute: the order of two operands of a sum or product, of no difference") {
  for (const char* op : {"add", "multiply", "maximum", "minimum"}) {
    for (const char* shape : {"s32[4,3]", "f32[4,3]", "bf16[4,3]"}) {
      CHECK(pair(fmt::format("  ROOT r = {} {}(x, y)\n", shape, op),
                 fmt::format("  ROOT r = {} {}(y, x)\n", shape, op), shape) == "proved");
    }
  }
  CHECK(pair("  ROOT r = s32[4,3] subtract(x, y)\n", "  ROOT r = s32[4,3] subtract(y, x)\n") ==
        "refuted");
  CHECK(pair("  ROOT r = s32[4,3] shift-left(x, y)\n", "  ROOT r = s32[4,3] shift-left(y, x)\n") ==
        "refuted");
}

TEST_CASE("neutral elements: of integers and pred; a float's zero is none") {
  auto with = [](std::string_view shape, std::string_view op, std::string_view constant,
                 std::string_view element) {
    return fmt::format(
        "  c = {0}[] constant({1})\n  w = {2} broadcast(c), dimensions={{}}\n"
        "  ROOT r = {2} {3}(x, w)\n",
        element, constant, shape, op);
  };
  std::string same = "  ROOT r = s32[4,3] copy(x)\n";
  CHECK(pair(with("s32[4,3]", "add", "0", "s32"), same) == "proved");
  CHECK(pair(with("s32[4,3]", "multiply", "1", "s32"), same) == "proved");
  CHECK(pair(with("s32[4,3]", "and", "-1", "s32"), same) == "proved");
  CHECK(pair(with("s32[4,3]", "or", "0", "s32"), same) == "proved");
  CHECK(pair(with("s32[4,3]", "and", "1", "s32"), same) == "refuted");
  CHECK(pair(with("s32[4,3]", "multiply", "0", "s32"), same) == "refuted");
  CHECK(pair(with("pred[4,3]", "and", "true", "pred"), "  ROOT r = pred[4,3] copy(x)\n",
             "pred[4,3]") == "proved");
  // -0 + 0 is +0.
  CHECK(pair(with("f32[4,3]", "add", "0", "f32"), "  ROOT r = f32[4,3] copy(x)\n", "f32[4,3]") ==
        "refuted");
}

TEST_CASE("known masks: a select by iota and constants is movement") {
  std::string masked =
      "  i = s32[4,3] iota(), iota_dimension=0\n"
      "  c = s32[] constant(2)\n  w = s32[4,3] broadcast(c), dimensions={}\n"
      "  m = pred[4,3] compare(i, w), direction=LT\n"
      "  ROOT r = s32[4,3] select(m, x, y)\n";
  CHECK(pair(masked,
             "  a = s32[2,3] slice(x), slice={[0:2], [0:3]}\n"
             "  b = s32[2,3] slice(y), slice={[2:4], [0:3]}\n"
             "  ROOT r = s32[4,3] concatenate(a, b), dimensions={0}\n") == "proved");
  CHECK(pair(masked,
             "  a = s32[3,3] slice(x), slice={[0:3], [0:3]}\n"
             "  b = s32[1,3] slice(y), slice={[3:4], [0:3]}\n"
             "  ROOT r = s32[4,3] concatenate(a, b), dimensions={0}\n") == "refuted");
}

TEST_CASE("element terms: sums cut along what is not summed") {
  CHECK(pair("  z = s32[] constant(5)\n"
             "  ROOT r = s32[3] reduce(x, z), dimensions={0}, to_apply=add\n",
             "  z = s32[] constant(5)\n"
             "  t = s32[3,4] transpose(x), dimensions={1,0}\n"
             "  ROOT r = s32[3] reduce(t, z), dimensions={1}, to_apply=add\n") == "proved");
  CHECK(pair("  ROOT r = s32[4,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n",
             "  a = s32[1,3] slice(x), slice={[0:1], [0:3]}\n"
             "  b = s32[3,3] slice(x), slice={[1:4], [0:3]}\n"
             "  c = s32[1,4] dot(a, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
             "  d = s32[3,4] dot(b, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n"
             "  ROOT r = s32[4,4] concatenate(c, d), dimensions={0}\n") == "proved");
  CHECK(
      pair("  ROOT r = s32[4,4] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n",
           "  ROOT r = s32[4,4] dot(y, x), lhs_contracting_dims={1}, rhs_contracting_dims={1}\n") ==
      "refuted");
}

TEST_CASE("associate: the order of several operands, where nothing is rounded") {
  const auto in_two_orders = [](std::string_view shape, std::string_view op) {
    return pair(fmt::format("  a = {0} {1}(x, y)\n  ROOT r = {0} {1}(a, x)\n", shape, op),
                fmt::format("  b = {0} {1}(x, x)\n  ROOT r = {0} {1}(y, b)\n", shape, op), shape);
  };
  CHECK(in_two_orders("s32[4,3]", "add") == "proved");
  CHECK(in_two_orders("u8[4,3]", "multiply") == "proved");
  CHECK(in_two_orders("bf16[4,3]", "maximum") == "proved");
  CHECK(in_two_orders("s32[4,3]", "subtract") == "refuted");
  CHECK(in_two_orders("f32[4,3]", "add") != "proved");
  CHECK(in_two_orders("c64[4,3]", "add") != "proved");
  // Which operand comes twice matters.
  CHECK(pair("  a = s32[4,3] add(x, y)\n  ROOT r = s32[4,3] add(a, x)\n",
             "  a = s32[4,3] add(x, y)\n  ROOT r = s32[4,3] add(a, y)\n") == "refuted");
}

TEST_CASE("fold: an all-reduce is its reducer, one member after the other") {
  const auto module = [](std::string_view type, std::string_view op, std::string_view root) {
    return fmt::format(R"(HloModule m, num_partitions=3

f {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT c = {0}[] {1}(a, b)
}}

ENTRY e {{
  x = {0}[1] parameter(0)
  {2}
}}
)",
                       type, op, root);
  };
  const auto verdict = [&](std::string_view type, std::string_view op, std::string_view order) {
    const std::string reduce = fmt::format(
        "ROOT r = {}[1] all-reduce(x), channel_id=1, replica_groups={{{{2,0,1}}}}, to_apply=f, "
        "use_global_device_ids=true",
        type);
    const std::string chain = fmt::format(
        "g = {0}[3] all-gather(x), channel_id=1, replica_groups={{{{{2}}}}}, dimensions={{0}}, "
        "use_global_device_ids=true\n  s = {0}[1] slice(g), slice={{[0:1]}}\n"
        "  t = {0}[1] slice(g), slice={{[1:2]}}\n  u = {0}[1] slice(g), slice={{[2:3]}}\n"
        "  v = {0}[1] {1}(s, t)\n  ROOT r = {0}[1] {1}(v, u)",
        type, op, order);
    EquivalenceOptions options;
    options.bits = true;
    return std::string(to_string(
        compare(module(type, op, reduce), module(type, op, chain), Mesh{1, 3}, options).verdict));
  };
  CHECK(verdict("f32", "add", "2,0,1") == "proved");
  CHECK(verdict("f32", "add", "0,2,1") == "proved");  // the first two may change places
  CHECK(verdict("f32", "add", "0,1,2") == "refuted");
  CHECK(verdict("f32", "divide", "2,0,1") == "proved");
  CHECK(verdict("f32", "divide", "0,2,1") == "refuted");
  CHECK(verdict("s32", "add", "0,1,2") == "proved");
  CHECK(verdict("c64", "add", "2,0,1") == "proved");
}

TEST_CASE("opaque operations are equal to themselves alone") {
  auto module = [](std::string_view direction, std::string_view operand) {
    return fmt::format(
        "HloModule m\n\nf {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n"
        "  ROOT c = pred[] compare(a, b), direction={}\n}}\n\nENTRY e {{\n"
        "  x = s32[4] parameter(0)\n  y = s32[4] parameter(1)\n"
        "  ROOT r = s32[4] sort({}), dimensions={{0}}, to_apply=f\n}}\n",
        direction, operand);
  };
  CHECK(verdict(module("LT", "x"), module("LT", "x")) == "proved");
  CHECK(verdict(module("LT", "x"), module("GT", "x")) == "refuted");
  CHECK(verdict(module("LT", "x"), module("LT", "y")) == "refuted");
  auto call = [](std::string_view config) {
    return fmt::format(
        "HloModule m\n\nENTRY e {{\n  x = s32[4] parameter(0)\n"
        "  ROOT r = s32[4] custom-call(x), custom_call_target=\"f\", backend_config=\"{}\"\n}}\n",
        config);
  };
  CHECK(verdict(call("a"), call("a")) == "proved");
  CHECK(verdict(call("a"), call("b")) == "unsupported");
}

TEST_CASE("elided constants are equal to the very same one only") {
  std::string text =
      "HloModule m\n\nENTRY e {\n  c = s32[64] constant({...})\n  x = s32[64] parameter(0)\n"
      "  ROOT r = s32[64] add(x, c)\n}\n";
  std::unique_ptr<Module> module = parse(text);
  std::unique_ptr<Module> clone = module->clone();
  CHECK(prove::check_equivalence(*module, *clone, {}).verdict == Verdict::kProved);
  CHECK(verdict(text, text) == "unsupported");
}

// A loop over (counter, value), with the value's step as given.
std::string loop(std::string_view step, std::string_view trips, std::string_view start = "0") {
  return fmt::format(
      "HloModule m, replica_count=4\n\nbody {{\n"
      "  t = (s32[], s32[4]) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n"
      "  v = s32[4] get-tuple-element(t), index=1\n  one = s32[] constant(1)\n"
      "  j = s32[] add(i, one)\n{}  ROOT o = (s32[], s32[4]) tuple(j, w)\n}}\n\n"
      "cond {{\n  t = (s32[], s32[4]) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n"
      "  n = s32[] constant({})\n  ROOT c = pred[] compare(i, n), direction=LT\n}}\n\n"
      "ENTRY e {{\n  x = s32[4] parameter(0)\n  i = s32[] constant({})\n"
      "  t = (s32[], s32[4]) tuple(i, x)\n"
      "  l = (s32[], s32[4]) while(t), condition=cond, body=body\n"
      "  ROOT r = s32[4] get-tuple-element(l), index=1\n}}\n",
      step, trips, start);
}

TEST_CASE("loops: by induction, and walked where that fails") {
  const Mesh mesh{4, 1};
  std::string permute =
      "  w = s32[4] collective-permute(v), "
      "source_target_pairs={{0,1},{1,2},{2,3},{3,0}}\n";
  std::string gather =
      "  g = s32[16] all-gather(v), replica_groups={}, dimensions={0}\n"
      "  k = s32[4] constant({12, 0, 4, 8})\n  id = u32[] replica-id()\n"
      "  d = s32[1] dynamic-slice(k, id), dynamic_slice_sizes={1}\n  s = s32[] reshape(d)\n"
      "  w = s32[4] dynamic-slice(g, s), dynamic_slice_sizes={4}\n";
  EquivalenceResult same = compare(loop(permute, "1000000"), loop(gather, "1000000"), mesh);
  CHECK(same.verdict == Verdict::kProved);
  CHECK(same.rules.contains("loop-induction"));
  // Four rotations are none: only walking tells.
  CHECK(verdict(loop(permute, "4"), loop("  w = s32[4] copy(v)\n", "4"), mesh) == "proved");
  CHECK(verdict(loop(permute, "3"), loop("  w = s32[4] copy(v)\n", "3"), mesh) == "refuted");
  CHECK(verdict(loop(permute, "5"), loop(permute, "1"), mesh) == "proved");
  CHECK(verdict(loop(permute, "5"), loop(permute, "5", "2"), mesh) == "refuted");
}

TEST_CASE("loops: where components stand in the state does not matter, nor what nobody uses") {
  auto module = [](bool swapped) {
    std::string shapes = swapped ? "(f32[3], s32[3], s32[], s32[3])" : "(s32[], s32[3], s32[3])";
    std::string first = swapped ? "a = s32[3] get-tuple-element(t), index=3\n"
                                  "  b = s32[3] get-tuple-element(t), index=1\n"
                                  "  i = s32[] get-tuple-element(t), index=2\n"
                                  "  d = f32[3] get-tuple-element(t), index=0\n"
                                  "  n = f32[3] negate(d)\n"
                                : "a = s32[3] get-tuple-element(t), index=1\n"
                                  "  b = s32[3] get-tuple-element(t), index=2\n"
                                  "  i = s32[] get-tuple-element(t), index=0\n";
    return fmt::format(
        "HloModule m, replica_count=2\n\nbody {{\n  t = {0} parameter(0)\n  {1}"
        "  o = s32[] constant(1)\n  j = s32[] add(i, o)\n  c = s32[3] subtract(a, b)\n"
        "  p = s32[3] collective-permute(a), source_target_pairs={{{{0,1}},{{1,0}}}}\n"
        "  ROOT r = {0} tuple({2})\n}}\n\ncond {{\n  t = {0} parameter(0)\n"
        "  i = s32[] get-tuple-element(t), index={3}\n  n = s32[] constant(1000000)\n"
        "  ROOT c = pred[] compare(i, n), direction=LT\n}}\n\nENTRY e {{\n"
        "  x = s32[3] parameter(0)\n  y = s32[3] parameter(1)\n  z = f32[3] parameter(2)\n"
        "  i = s32[] constant(0)\n  t = {0} tuple({4})\n"
        "  l = {0} while(t), condition=cond, body=body\n"
        "  ROOT r = s32[3] get-tuple-element(l), index={5}\n}}\n",
        shapes, first, swapped ? "n, p, j, c" : "j, c, p", swapped ? 2 : 0,
        swapped ? "z, y, i, x" : "i, x, y", swapped ? 3 : 1);
  };
  const Mesh mesh{2, 1};
  EquivalenceResult result = compare(module(false), module(true), mesh);
  CHECK(result.verdict == Verdict::kProved);
  CHECK(result.rules.contains("loop-induction"));
}

TEST_CASE("loops: a test that depends on inputs") {
  auto module = [](std::string_view step) {
    return fmt::format(
        "HloModule m, replica_count=2\n\nadd {{\n  a = s32[] parameter(0)\n"
        "  b = s32[] parameter(1)\n  ROOT c = s32[] add(a, b)\n}}\n\n"
        "body {{\n  v = s32[] parameter(0)\n  d = s32[] constant(2)\n{}}}\n\n"
        "cond {{\n  v = s32[] parameter(0)\n  n = s32[] constant(10)\n"
        "  ROOT c = pred[] compare(v, n), direction=GT\n}}\n\n"
        "ENTRY e {{\n  x = s32[] parameter(0)\n"
        "  s = s32[] all-reduce(x), replica_groups={{}}, to_apply=add\n"
        "  ROOT l = s32[] while(s), condition=cond, body=body\n}}\n",
        step);
  };
  const Mesh mesh{2, 1};
  std::string half = "  ROOT w = s32[] divide(v, d)\n";
  CHECK(verdict(module(half), module(half), mesh) == "proved");
  CHECK(verdict(module(half),
                module("  o = s32[] constant(1)\n  ROOT w = s32[] shift-right-arithmetic(v, o)\n"),
                mesh) == "tested");
  CHECK(verdict(module(half), module("  ROOT w = s32[] subtract(v, d)\n"), mesh) == "refuted");
}

TEST_CASE("conditionals: a test that depends on inputs") {
  auto module = [](std::string_view yes, std::string_view no, std::string_view test = "p") {
    return fmt::format(
        "HloModule m\n\nyes {{\n  v = s32[3] parameter(0)\n{}}}\n\nno {{\n"
        "  v = s32[3] parameter(0)\n{}}}\n\nENTRY e {{\n  p = pred[] parameter(0)\n"
        "  x = s32[3] parameter(1)\n  q = pred[] not(p)\n"
        "  ROOT r = s32[3] conditional({}, x, x), true_computation=yes, false_computation=no\n}}\n",
        yes, no, test);
  };
  std::string negate = "  ROOT r = s32[3] negate(v)\n", copy = "  ROOT r = s32[3] copy(v)\n";
  CHECK(verdict(module(negate, copy), module(negate, copy)) == "proved");
  CHECK(verdict(module(copy, copy), module(copy, copy, "q")) == "proved");
  CHECK(verdict(module(negate, copy), module(copy, negate)) == "refuted");
}

TEST_CASE("effects: a deadlock or mismatch on one side refutes, on both is invalid") {
  auto module = [](std::string_view yes, std::string_view no) {
    return fmt::format(
        "HloModule m, replica_count=2\n\nadd {{\n  a = s32[] parameter(0)\n"
        "  b = s32[] parameter(1)\n  ROOT c = s32[] add(a, b)\n}}\n\n"
        "yes {{\n  v = s32[3] parameter(0)\n{}}}\n\nno {{\n  v = s32[3] parameter(0)\n{}}}\n\n"
        "ENTRY e {{\n  x = s32[3] parameter(0)\n  id = u32[] replica-id()\n"
        "  z = u32[] constant(0)\n  c = pred[] compare(id, z), direction=EQ\n"
        "  ROOT r = s32[3] conditional(c, x, x), true_computation=yes, false_computation=no\n}}\n",
        yes, no);
  };
  const Mesh mesh{2, 1};
  std::string sum = "  ROOT s = s32[3] all-reduce(v), replica_groups={{0,1}}, to_apply=add\n";
  std::string copy = "  ROOT s = s32[3] copy(v)\n";
  EquivalenceResult stuck = compare(module(copy, copy), module(sum, copy), mesh);
  CHECK(stuck.verdict == Verdict::kRefuted);
  REQUIRE(stuck.counterexample);
  CHECK(stuck.counterexample->report.find("deadlock") != std::string::npos);
  CHECK(stuck.counterexample->report.find("device 1 (replica 1, partition 0)") !=
        std::string::npos);
  CHECK(verdict(module(sum, copy), module(sum, copy), mesh) == "invalid");
}

TEST_CASE("counterexamples name device, output, index, values and where they come from") {
  std::string before =
      "HloModule m, num_partitions=4\n\nENTRY e {\n  p = f32[2,3] parameter(0)\n"
      "  ROOT c = f32[2,3] collective-permute(p), channel_id=1, "
      "source_target_pairs={{0,1},{1,2},{2,3}}\n}\n";
  std::unique_ptr<Module> module = parse(before);
  std::unique_ptr<Module> after = module->clone();
  auto source = Source::from_string("p", "collective-permute-to-all-gather{fill=identity}");
  Diagnostics diagnostics(source);
  auto pipeline = parse_pipeline(source, diagnostics);
  REQUIRE(pipeline);
  PassContext context;
  REQUIRE(run_pipeline(*after, *pipeline, context, true));
  EquivalenceOptions options;
  options.mesh = {1, 4};
  EquivalenceResult result = prove::check_equivalence(*module, *after, options);
  REQUIRE(result.verdict == Verdict::kRefuted);
  const prove::Counterexample& found = *result.counterexample;
  CHECK(found.device == 0);
  CHECK(found.output == 0);
  CHECK(found.index == std::vector<int64_t>{0, 0});
  CHECK(found.values[0] == "0");
  CHECK(found.values[1] != "0");
  CHECK(found.paths[0] == "the constant 0");
  CHECK(found.paths[1] == "parameter 0 (%p)[0,0] of device 0 (replica 0, partition 0)");
  REQUIRE(found.inputs.size() == 1);
  CHECK(found.inputs[0].device == 0);
  CHECK(found.inputs[0].value == found.values[1]);
  CHECK(found.replay == "simulator");
}

TEST_CASE("rounding: another order of a float sum is no refutation, unless bits are asked for") {
  std::string left =
      "  a = f32[4,3] add(x, y)\n  b = f32[4,3] multiply(x, y)\n"
      "  ROOT r = f32[4,3] add(a, b)\n";
  std::string right =
      "  b = f32[4,3] multiply(x, y)\n  c = f32[4,3] add(y, b)\n"
      "  ROOT r = f32[4,3] add(x, c)\n";
  CHECK(pair(left, right, "f32[4,3]") == "proved-up-to-rounding");
  EquivalenceOptions options;
  options.bits = true;
  CHECK(compare(entry(left, "f32[4,3]"), entry(right, "f32[4,3]"), {}, options).verdict ==
        Verdict::kRefuted);
  // A real difference is one whatever the arithmetic.
  CHECK(pair(left,
             "  b = f32[4,3] multiply(x, x)\n  c = f32[4,3] add(y, b)\n"
             "  ROOT r = f32[4,3] add(x, c)\n",
             "f32[4,3]") == "refuted");
}

TEST_CASE("a comparison needs the same parameters and results") {
  CHECK(verdict("HloModule m\n\nENTRY e {\n  ROOT x = s32[3] parameter(0)\n}\n",
                "HloModule m\n\nENTRY e {\n  ROOT x = s32[4] parameter(0)\n}\n") == "invalid");
  CHECK(verdict("HloModule m\n\nENTRY e {\n  ROOT x = s32[] parameter(0)\n}\n",
                "HloModule m\n\nENTRY e {\n  ROOT x = s32[] parameter(0)\n"
                "  y = s32[] parameter(1)\n}\n") == "invalid");
}

TEST_CASE("shapes without elements and scalars") {
  for (const char* shape : {"s32[0]", "s32[2,0,3]", "s32[]", "f32[1,1]", "pred[]"}) {
    std::string text = fmt::format(
        "HloModule m, replica_count=3\n\nENTRY e {{\n  x = {0} parameter(0)\n"
        "  ROOT r = {0} collective-permute(x), source_target_pairs={{{{0,1}}}}\n}}\n",
        shape);
    CHECK(verdict(text, text, {3, 1}) == "proved");
  }
}

TEST_CASE("all-to-all of tuples: element i is what rank i sends") {
  auto module = [](int index) {
    return fmt::format(
        "HloModule m, num_partitions=2\n\nENTRY e {{\n  p = s32[2] parameter(0)\n"
        "  q = s32[2] parameter(1)\n  t = (s32[2], s32[2]) all-to-all(p, q), channel_id=1, "
        "replica_groups={{{{0,1}}}}\n  ROOT r = s32[2] get-tuple-element(t), index={}\n}}\n",
        index);
  };
  const Mesh mesh{1, 2};
  CHECK(verdict(module(0), module(0), mesh) == "proved");
  CHECK(verdict(module(0), module(1), mesh) == "refuted");
  // Rank 0 sends p to 0 and q to 1.
  std::string rows =
      "HloModule m, num_partitions=2\n\nENTRY e {\n  p = s32[2] parameter(0)\n"
      "  q = s32[2] parameter(1)\n  b = s32[4] concatenate(p, q), dimensions={0}\n"
      "  c = s32[4] all-to-all(b), channel_id=1, replica_groups={{0,1}}, dimensions={0}\n"
      "  ROOT r = s32[2] slice(c), slice={[2:4]}\n}\n";
  CHECK(verdict(module(1), rows, mesh) == "proved");
  CHECK(verdict(module(0), rows, mesh) == "refuted");
}

TEST_CASE("bytes that are no truth values are not understood") {
  auto module = [](std::string_view middle) {
    return fmt::format(
        "HloModule m\n\nENTRY e {{\n  p = u8[4] parameter(0)\n"
        "  q = pred[4] bitcast-convert(p)\n  t = pred[] constant(true)\n"
        "  w = pred[4] broadcast(t), dimensions={{}}\n  r = pred[4] and(q, w)\n"
        "  ROOT y = u8[4] bitcast-convert({})\n}}\n",
        middle);
  };
  CHECK(verdict(module("q"), module("r")) != "proved");
}

TEST_CASE("rounding: what f64 loses beside a large input is no refutation") {
  auto is_rounding = [](double a, double b, double largest) {
    const double values[] = {a, b};
    return prove::is_rounding(ElementType::F32, values, largest,
                              [&](const prove::WideArithmetic&) {
                                return std::array{a, b};
                              })
        .value();
  };
  CHECK(is_rounding(0, 0x1p-149, 4));
  CHECK_FALSE(is_rounding(0, 0x1p-149, 0x1p-149));
  CHECK_FALSE(is_rounding(0, 1, 1e6));
  // A difference of an infinity is none that is lost.
  CHECK_FALSE(is_rounding(0, std::numeric_limits<double>::infinity(), 1e300));
  // Neither is a zero's sign, unless what it was rounded from had it.
  CHECK_FALSE(is_rounding(0, -0.0, 4));
  const double zeros[] = {0, -0.0};
  CHECK(prove::is_rounding(ElementType::F32, zeros, 4, [&](const prove::WideArithmetic&) {
          return std::array{0x1p-160, -0x1p-160};
        }) == true);
}

TEST_CASE("rounding: an infinity is none, and neither is what is far apart in wider arithmetic") {
  auto constant = [](std::string_view value) {
    return fmt::format("HloModule m\n\nENTRY e {{\n  ROOT c = f32[] constant({})\n}}\n", value);
  };
  CHECK(verdict(constant("1"), constant("inf")) == "refuted");
  CHECK(verdict(constant("-inf"), constant("inf")) == "refuted");
  CHECK(verdict(constant("nan"), constant("inf")) == "refuted");
  CHECK(verdict(constant("0"), constant("-0.0")) == "refuted");
  CHECK(verdict(constant("nan"), constant("-nan")) == "tested");
}

TEST_CASE(
    "differences of what is computed are shown by demand where modules are too large to run") {
  auto module = [](std::string_view type, std::string_view pairs) {
    return fmt::format(
        "HloModule m, replica_count=64\n\nENTRY e {{\n  p = {0}[8192,8192] parameter(0)\n"
        "  q = {0}[8192,8192] collective-permute(p), source_target_pairs={{{1}}}\n"
        "  ROOT r = {0}[8192,8192] subtract(q, p)\n}}\n",
        type, pairs);
  };
  std::string forth, back;
  for (int i = 0; i < 64; ++i) {
    forth += fmt::format("{}{{{},{}}}", i ? "," : "", i, (i + 1) % 64);
    back += fmt::format("{}{{{},{}}}", i ? "," : "", (i + 1) % 64, i);
  }
  for (const char* type : {"bf16", "f32", "s32", "f64"}) {
    CAPTURE(type);
    EquivalenceResult result = compare(module(type, forth), module(type, back), {64, 1});
    CHECK(result.verdict == Verdict::kRefuted);
    if (result.counterexample) CHECK(result.counterexample->replay == "by demand");
  }
}

TEST_CASE("bitcasts that change the type are told by their layouts") {
  auto module = [](std::string_view layout) {
    return fmt::format(
        "HloModule m\n\nENTRY e {{\n  p = f32[2,3]{{1,0}} parameter(0)\n"
        "  b = s32[2,3]{{{}}} bitcast(p)\n"
        "  ROOT r = s32[2,3]{{1,0}} copy(b)\n}}\n",
        layout);
  };
  CHECK(verdict(module("0,1"), module("0,1")) == "proved");
  CHECK(verdict(module("0,1"), module("1,0")) == "refuted");
}

TEST_CASE("loops that never end are not taken for their state; those without a trip are") {
  auto module = [](std::string_view test) {
    return fmt::format(
        "HloModule m\n\nbody {{\n  ROOT v = s32[3] parameter(0)\n}}\n\ncond {{\n"
        "  v = s32[3] parameter(0)\n  ROOT c = pred[] constant({})\n}}\n\nENTRY e {{\n"
        "  x = s32[3] parameter(0)\n"
        "  ROOT l = s32[3] while(x), condition=cond, body=body\n}}\n",
        test);
  };
  std::string copy =
      "HloModule m\n\nENTRY e {\n  x = s32[3] parameter(0)\n"
      "  ROOT c = s32[3] copy(x)\n}\n";
  EquivalenceOptions options;
  options.max_steps = 10000;
  CHECK(compare(module("true"), copy, {}, options).verdict == Verdict::kTested);
  CHECK(compare(module("false"), copy, {}, options).verdict == Verdict::kProved);
}

}  // namespace
}  // namespace minihlo
