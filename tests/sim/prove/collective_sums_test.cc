// Sums and products across devices of floats that are narrower than what they are taken in.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "ir/text/parser.h"
#include "sim/prove/equivalence.h"
#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

using prove::Verdict;
using testing::run_text;

std::unique_ptr<Module> parse(std::string text, std::shared_ptr<ShapePool> shapes = nullptr) {
  auto source = Source::from_string("test", std::move(text));
  Diagnostics diagnostics(source);
  std::unique_ptr<Module> module = parse_text(source, diagnostics, {std::move(shapes)});
  INFO(diagnostics.to_string());
  REQUIRE(module);
  return module;
}

// All-reduces of one element a device, the device's own of `elements`; what device 0 has, in f32.
float sum_of(std::string_view type, std::string_view opcode, const std::vector<float>& elements) {
  std::string table;
  for (float element : elements) table += fmt::format("{}{}", table.empty() ? "" : ", ", element);
  auto result = run_text(fmt::format(R"(HloModule m
f {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT c = {0}[] {1}(b, a)
}}
ENTRY e {{
  table = {0}[{2}] constant({{{3}}})
  id = u32[] replica-id()
  x = {0}[1] dynamic-slice(table, id), dynamic_slice_sizes={{1}}
  s = {0}[1] all-reduce(x), replica_groups={{}}, to_apply=f
  ROOT r = f32[1] convert(s)
}})",
                                     type, opcode, elements.size(), table),
                         static_cast<int64_t>(elements.size()), 1);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return testing::values<float>(*result, 0).at(0);
}

TEST_CASE("collective sums: narrow floats but f16 are rounded once, as XLA's CPU backend does it") {
  CHECK(sum_of("bf16", "add", {256, 1, 1, -256}) == 2);
  CHECK(sum_of("f8e4m3fn", "add", {16, 1, 1, -16}) == 2);
  CHECK(sum_of("f16", "add", {2048, 1, 1, -2048}) == 0);
  CHECK(sum_of("bf16", "multiply", std::vector<float>(16, 1.0078125F)) == 1.1328125F);
}

// The verdict on an all-reduce and the chain of adds in a type, of elements converted to that.
Verdict sum_and_chain(std::string_view type, std::string_view wide, int devices, bool bits) {
  const std::string header = fmt::format("HloModule m, num_partitions={}\n\n", devices);
  const std::string reduce = fmt::format(R"(f {{
  a = {0}[] parameter(0)
  b = {0}[] parameter(1)
  ROOT c = {0}[] add(a, b)
}}

ENTRY e {{
  x = {0}[4] parameter(0)
  ROOT r = {0}[4] all-reduce(x), channel_id=1, replica_groups={{}}, to_apply=f
}}
)",
                                         type);
  std::string chain = fmt::format(R"(ENTRY e {{
  x = {0}[4] parameter(0)
  y = {0}[1,4] reshape(x)
  g = {0}[{1},4] all-gather(y), channel_id=1, replica_groups={{}}, dimensions={{0}}
  w = {2}[{1},4] convert(g)
)",
                                  type, devices, wide);
  for (int i = 0; i < devices; ++i) {
    chain +=
        fmt::format("  part{0} = {2}[1,4] slice(w), slice={{[{0}:{1}], [0:4]}}\n", i, i + 1, wide);
    if (i > 0)
      chain += fmt::format("  sum{0} = {2}[1,4] add({1}, part{0})\n", i,
                           i == 1 ? "part0" : fmt::format("sum{}", i - 1), wide);
  }
  chain += fmt::format("  n = {0}[1,4] convert(sum{1})\n  ROOT r = {0}[4] reshape(n)\n}}\n", type,
                       devices - 1);
  std::unique_ptr<Module> a = parse(header + reduce);
  std::unique_ptr<Module> b = parse(header + chain, a->shape_pool());
  prove::EquivalenceOptions options;
  options.mesh = Mesh{1, devices};
  options.bits = bits;
  return prove::check_equivalence(*a, *b, options).verdict;
}

TEST_CASE("collective sums: proofs know where narrow floats are rounded") {
  for (const char* type : {"bf16", "f8e5m2"}) {
    CAPTURE(type);
    CHECK(sum_and_chain(type, "f32", 3, true) == Verdict::kProved);
    CHECK(sum_and_chain(type, type, 3, true) == Verdict::kRefuted);
    CHECK(sum_and_chain(type, type, 3, false) == Verdict::kProvedUpToRounding);
    CHECK(sum_and_chain(type, type, 2, true) == Verdict::kProved);
  }
  CHECK(sum_and_chain("f16", "f16", 3, true) == Verdict::kProved);
}

}  // namespace
}  // namespace minihlo
