// What the simulator adds to its kernels: memory that is shared and taken over, limits, threads,
// seeded inputs.
#include "sim/run/simulator.h"

#include <doctest/doctest.h>

#include <set>

#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

using testing::parsed;
using testing::run_text;
using testing::tensor;
using testing::values;

using F32 = std::vector<float>;

RunResult run_on(std::string_view text, const Inputs& inputs, const RunOptions& options = {},
                 Mesh mesh = {1, 1}) {
  auto module = parsed(text);
  auto result = simulate(*module, mesh, inputs, options);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return *std::move(result);
}

Inputs one(const F32& elements) {
  return {{tensor(ElementType::F32, {static_cast<int64_t>(elements.size())}, elements)}};
}

TEST_CASE("simulator: an operand that is named twice is not taken over half-way") {
  RunResult result = run_on(R"(HloModule m
ENTRY e {
  x = f32[3] parameter(0)
  y = f32[3] negate(x)
  z = f32[3] add(y, y)
  w = f32[3] subtract(z, z)
  ROOT t = (f32[3], f32[3]) tuple(z, w)
})",
                            one({1, 2, 3}));
  CHECK(values<float>(result, 0, 0) == F32{-2, -4, -6});
  CHECK(values<float>(result, 0, 1) == F32{0, 0, 0});
}

TEST_CASE("simulator: an update in place leaves other readers alone") {
  RunResult result = run_on(R"(HloModule m
ENTRY e {
  x = f32[4] parameter(0)
  y = f32[4] negate(x)
  same = f32[2,2] reshape(y)
  u = f32[2] constant({7, 8})
  one = s32[] constant(1)
  z = f32[4] dynamic-update-slice(y, u, one)
  back = f32[4] reshape(same)
  alone = f32[4] abs(x)
  updated = f32[4] dynamic-update-slice(alone, u, one)
  ROOT t = (f32[4], f32[4], f32[4], f32[4]) tuple(z, back, updated, x)
})",
                            one({1, 2, 3, 4}));
  CHECK(values<float>(result, 0, 0) == F32{-1, 7, 8, -4});
  CHECK(values<float>(result, 0, 1) == F32{-1, -2, -3, -4});
  CHECK(values<float>(result, 0, 2) == F32{1, 7, 8, 4});
  CHECK(values<float>(result, 0, 3) == F32{1, 2, 3, 4});
}

TEST_CASE("simulator: devices that share a buffer do not write into it for one another") {
  // All devices hold the same buffer; each writes at its own place.
  auto result = run_text(R"(HloModule m
ENTRY e {
  zero = f32[] constant(0)
  all = f32[3] broadcast(zero), dimensions={}
  base = f32[3] negate(all)
  id = u32[] partition-id()
  one = f32[1] constant({1})
  ROOT r = f32[3] dynamic-update-slice(base, one, id)
})",
                         1, 3);
  REQUIRE(result);
  CHECK(values<float>(*result, 0) == F32{1, 0, 0});
  CHECK(values<float>(*result, 1) == F32{0, 1, 0});
  CHECK(values<float>(*result, 2) == F32{0, 0, 1});
}

TEST_CASE("simulator: a loop updates its state in place") {
  const char* text = R"(HloModule m
cond { s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] constant(100)
  ROOT t = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[1000]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[1000] get-tuple-element(s), index=1
  one = s32[] constant(1)
  v = f32[1] constant({5})
  y = f32[1000] dynamic-update-slice(x, v, i)
  z = f32[1000] multiply(y, y)
  j = s32[] add(i, one)
  ROOT r = (s32[], f32[1000]) tuple(j, z) }
ENTRY e {
  x = f32[1000] parameter(0)
  zero = s32[] constant(0)
  s = (s32[], f32[1000]) tuple(zero, x)
  w = (s32[], f32[1000]) while(s), condition=cond, body=body
  ROOT r = f32[1000] get-tuple-element(w), index=1
})";
  RunResult result = run_on(text, one(F32(1000, 1.0F)));
  CHECK(values<float>(result, 0)[99] == 25.0F);
  // The input, one copy of it at work, one for the product, and scalars.
  CHECK(result.stats.peak_memory < 3 * 4032 + 1024);
}

TEST_CASE("simulator: an all-gather makes one buffer a group, a permute none") {
  const char* text = R"(HloModule m
ENTRY e {
  x = f32[1024] parameter(0)
  g = f32[8192] all-gather(x), dimensions={0}, replica_groups={}
  p = f32[1024] collective-permute(x), source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7}}
  ROOT t = (f32[8192], f32[1024]) tuple(g, p)
})";
  auto result = run_text(text, 8, 1);
  REQUIRE(result);
  CHECK(result->outputs[0][0].data == result->outputs[7][0].data);
  // Inputs 8 x 4 KiB, the gathered 32 KiB, zeros for device 0.
  CHECK(result->stats.peak_memory <= 32768 + 32768 + 4096 + 64);
  CHECK(values<float>(*result, 0, 1) == F32(1024, 0.0F));
  CHECK(values<float>(*result, 3, 1) == values<float>(*run_text(R"(HloModule m
ENTRY e { ROOT x = f32[1024] parameter(0) })",
                                                                8, 1),
                                                      2));
}

TEST_CASE("simulator: memory is refused before it is taken") {
  RunOptions options;
  options.max_memory = 1 << 20;
  auto result = run_text(R"(HloModule m
ENTRY e {
  i = f32[100000,100000] iota(), iota_dimension=0
  ROOT r = f32[] constant(0)
})",
                         1, 1, options);
  REQUIRE(!result);
  CHECK(result.error().kind == Stop::Kind::kMemory);
  CHECK(result.error().message.find("40000000000") != std::string::npos);
  // One value that stands for all takes none.
  CHECK(run_text(R"(HloModule m
ENTRY e {
  one = f32[] constant(1)
  c = f32[100000,100000] broadcast(one), dimensions={}
  d = f32[100000,100000] add(c, c)
  ROOT r = f32[1,1] slice(d), slice={[5:6], [7:8]}
})",
                 1, 1, options));
}

TEST_CASE("simulator: results do not depend on the number of threads") {
  const char* text = R"(HloModule m
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
ENTRY e {
  x = f32[300,700] parameter(0)
  y = f32[700,300] transpose(x), dimensions={1,0}
  z = f32[300,300] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[300,300] tanh(z)
  zero = f32[] constant(0)
  rows = f32[300] reduce(t, zero), dimensions={1}, to_apply=sum
  columns = f32[700] reduce(x, zero), dimensions={0}, to_apply=sum
  all = f32[700] all-reduce(columns), replica_groups={}, to_apply=sum
  ROOT r = (f32[300,300], f32[300], f32[700]) tuple(t, rows, all)
})";
  RunOptions options;
  options.threads = 1;
  auto serial = run_text(text, 3, 1, options);
  REQUIRE(serial);
  for (int threads : {2, 5}) {
    options.threads = threads;
    auto parallel = run_text(text, 3, 1, options);
    REQUIRE(parallel);
    for (size_t device = 0; device < 3; ++device) {
      for (size_t leaf = 0; leaf < 3; ++leaf) {
        CHECK(values<uint32_t>(*serial, device, leaf) == values<uint32_t>(*parallel, device, leaf));
      }
    }
  }
}

TEST_CASE("simulator: elided constants need to be given values") {
  const char* text = R"(HloModule m
ENTRY e { ROOT c = f32[100] constant({...}) })";
  auto refused = run_text(text, 1, 1);
  REQUIRE(!refused);
  CHECK(refused.error().kind == Stop::Kind::kUnsupported);
  RunOptions options;
  options.elided = ElidedConstants::kZero;
  auto zero = run_text(text, 1, 1, options);
  REQUIRE(zero);
  CHECK(values<float>(*zero, 0) == F32(100, 0.0F));
  options.elided = ElidedConstants::kSeed;
  options.seed = 3;
  auto seeded = run_text(text, 1, 1, options);
  REQUIRE(seeded);
  CHECK(values<float>(*seeded, 0) != F32(100, 0.0F));
  CHECK(values<float>(*seeded, 0) == values<float>(*run_text(text, 1, 1, options), 0));
}

TEST_CASE("simulator: what is not supported is named") {
  auto result = run_text(R"(HloModule m
ENTRY e { x = f32[2] parameter(0)
  ROOT c = f32[2] custom-call(x), custom_call_target="secret" })",
                         1, 1);
  REQUIRE(!result);
  CHECK(result.error().kind == Stop::Kind::kUnsupported);
  CHECK(result.error().what == "custom-call");
  CHECK(result.error().message.find("%c") != std::string::npos);
}

TEST_CASE("simulator: inputs that do not fit are refused") {
  auto module = parsed("HloModule m\nENTRY e { ROOT x = f32[2] parameter(0) }");
  CHECK(!simulate(*module, {1, 1}, {}));
  CHECK(!simulate(*module, {1, 1}, {{}}));
  CHECK(!simulate(*module, {1, 1}, one({1, 2, 3})));
  CHECK(!simulate(*module, {1, 2}, {one({1, 2})[0], one({1, 2})[0], one({1, 2})[0]}));
  auto shared = simulate(*module, {1, 2}, one({1, 2}));
  REQUIRE(shared);
  CHECK(shared->outputs[0][0].data == shared->outputs[1][0].data);
}

TEST_CASE("simulator: a dot without result elements") {
  auto result = run_text(R"(HloModule m
ENTRY e { x = f32[2] parameter(0)
  y = f32[0,2] parameter(1)
  ROOT d = f32[0] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={1} })",
                         1, 1);
  REQUIRE(result);
  CHECK(result->outputs[0][0].bytes == 0);
}

TEST_CASE("simulator: outputs outlive module and run") {
  std::vector<std::vector<HostTensor>> outputs;
  {
    auto module = parsed("HloModule m\nENTRY e { ROOT c = f32[4] constant({1, 2, 3, 4}) }");
    outputs = simulate(*module, {1, 1}, {{}})->outputs;
  }
  CHECK(element_text(outputs[0][0], 3) == "4");
}

TEST_CASE("inputs: seeded values are distinct over devices, parameters and indices") {
  auto module = parsed(R"(HloModule m
ENTRY e { x = f32[100] parameter(0)
  y = f32[7,9] parameter(1)
  i = s32[] parameter(2)
  ROOT r = f32[100] add(x, x) })");
  auto inputs = make_inputs(*module, {2, 2}, 42, 1 << 20);
  REQUIRE(inputs);
  std::set<float> seen;
  for (const auto& device : *inputs) {
    for (size_t leaf = 0; leaf < 2; ++leaf) {
      for (int64_t i = 0; i < device[leaf].element_count(); ++i) {
        float value = reinterpret_cast<const float*>(device[leaf].data.get())[i];
        CHECK(std::abs(value) <= 128.0F);
        seen.insert(value);
      }
    }
    int32_t index = *reinterpret_cast<const int32_t*>(device[2].data.get());
    CHECK(index >= 0);
    CHECK(index < 8);
  }
  CHECK(seen.size() == 4 * 163);
  auto again = make_inputs(*module, {2, 2}, 42, 1 << 20);
  CHECK(compare((*inputs)[3][1], (*again)[3][1], {}).count == 0);
  auto other = make_inputs(*module, {2, 2}, 43, 1 << 20);
  CHECK(compare((*inputs)[3][1], (*other)[3][1], {}).count > 0);
  CHECK(!make_inputs(*module, {2, 2}, 42, 1000));
}

}  // namespace
}  // namespace minihlo
