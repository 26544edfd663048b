// Called computations that do more than work on elements.
#include <doctest/doctest.h>

#include <string>

#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

using testing::parsed;
using testing::run_text;
using testing::tensor;
using testing::values;

using F32 = std::vector<float>;

// %halved: a + b / 8, by a loop. %less: by what a conditional makes of both. %looked_up: arrays,
// a slice at a place that depends on the element, a reduction and a product.
constexpr std::string_view kCalled = R"(HloModule m
cond { s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT }
body { s = (s32[], f32[]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  x = f32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  half = f32[] constant(0.5)
  y = f32[] multiply(x, half)
  ROOT t = (s32[], f32[]) tuple(j, y) }
halved { a = f32[] parameter(0)
  b = f32[] parameter(1)
  zero = s32[] constant(0)
  init = (s32[], f32[]) tuple(zero, b)
  w = (s32[], f32[]) while(init), condition=cond, body=body
  h = f32[] get-tuple-element(w), index=1
  ROOT r = f32[] add(a, h) }
negated { a = f32[] parameter(0)
  ROOT r = f32[] negate(a) }
same { a = f32[] parameter(0)
  ROOT r = f32[] copy(a) }
less { a = f32[] parameter(0)
  b = f32[] parameter(1)
  three = f32[] constant(3)
  ta = pred[] compare(a, three), direction=LT
  x = f32[] conditional(ta, a, a), true_computation=negated, false_computation=same
  tb = pred[] compare(b, three), direction=LT
  y = f32[] conditional(tb, b, b), true_computation=negated, false_computation=same
  ROOT r = pred[] compare(x, y), direction=LT }
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
looked_up { a = f32[] parameter(0)
  table = f32[4] constant({1, 10, 100, 1000})
  i = s32[] convert(a)
  v = f32[1] dynamic-slice(table, i), dynamic_slice_sizes={1}
  s = f32[] reshape(v)
  all = f32[4] broadcast(a), dimensions={}
  m = f32[4] multiply(all, table)
  zero = f32[] constant(0)
  total = f32[] reduce(m, zero), dimensions={0}, to_apply=halved
  d = f32[] dot(table, table), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  q = f32[] add(s, total)
  ROOT r = f32[] add(q, d) }
)";

RunResult run_on_four(const std::string& entry, const RunOptions& options = {}) {
  auto module = parsed(std::string(kCalled) + entry);
  Inputs inputs{{tensor<float>(ElementType::F32, {4}, {0, 8, 2, 16})}};
  auto result = simulate(*module, Mesh{1, 1}, inputs, options);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  return *std::move(result);
}

TEST_CASE("walked elements: reduce, reduce-window, scatter, sort and map") {
  RunResult result = run_on_four(R"(ENTRY e {
  x = f32[4] parameter(0)
  one = f32[] constant(1)
  r = f32[] reduce(x, one), dimensions={0}, to_apply=halved
  w = f32[3] reduce-window(x, one), window={size=2}, to_apply=halved
  i = s32[2,1] constant({{1},{1}})
  u = f32[2] constant({8, 16})
  c = f32[4] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=halved
  s = f32[4] sort(x), dimensions={0}, to_apply=less
  m = f32[4] map(x), dimensions={0}, to_apply=looked_up
  ROOT t = (f32[], f32[3], f32[4], f32[4], f32[4]) tuple(r, w, c, s, m)
})");
  CHECK(values<float>(result, 0, 0) == F32{4.25});
  CHECK(values<float>(result, 0, 1) == F32{2, 2.25, 3.25});
  CHECK(values<float>(result, 0, 2) == F32{0, 11, 2, 16});
  CHECK(values<float>(result, 0, 3) == F32{2, 0, 8, 16});
  const float dot = 1010101;
  CHECK(values<float>(result, 0, 4) == F32{1 + dot, 1000 + 8 * 1111 / 8.F + dot,
                                           100 + 2 * 1111 / 8.F + dot,
                                           1000 + 16 * 1111 / 8.F + dot});
}

TEST_CASE("walked elements: the same on any number of threads") {
  const std::string entry = R"(ENTRY e {
  x = f32[4] parameter(0)
  rows = f32[500,4] broadcast(x), dimensions={1}
  i = f32[500,4] iota(), iota_dimension=0
  y = f32[500,4] add(rows, i)
  zero = f32[] constant(0)
  ROOT r = f32[500] reduce(y, zero), dimensions={1}, to_apply=halved
})";
  RunOptions one, four;
  one.threads = 1;
  four.threads = 4;
  RunResult a = run_on_four(entry, one), b = run_on_four(entry, four);
  CHECK(values<float>(a, 0)[499] == (26 + 4 * 499) / 8.F);
  CHECK(values<float>(a, 0) == values<float>(b, 0));
}

TEST_CASE("walked elements: reducers of collectives") {
  auto result = run_text(std::string(kCalled) + R"(ENTRY e {
  id = u32[] partition-id()
  x = f32[] convert(id)
  eight = f32[] constant(8)
  y = f32[] multiply(x, eight)
  ROOT r = f32[] all-reduce(y), channel_id=1, replica_groups={{0,1,2}}, use_global_device_ids=true, to_apply=halved
})",
                         1, 3);
  REQUIRE(result);
  CHECK(values<float>(*result, 2) == F32{3});
}

TEST_CASE("walked elements: what goes wrong inside ends the run") {
  const std::string text = std::string(kCalled) + R"(
forever { s = (s32[], f32[]) parameter(0)
  ROOT t = pred[] constant(true) }
endless { a = f32[] parameter(0)
  zero = s32[] constant(0)
  init = (s32[], f32[]) tuple(zero, a)
  w = (s32[], f32[]) while(init), condition=forever, body=body
  ROOT r = f32[] get-tuple-element(w), index=1 }
ENTRY e {
  x = f32[4] parameter(0)
  ROOT m = f32[4] map(x), dimensions={0}, to_apply=endless
})";
  RunOptions options;
  options.max_steps = 1000;
  auto result = run_text(text, 1, 1, options);
  REQUIRE(!result);
  CHECK(result.error().kind == Stop::Kind::kSteps);
}

TEST_CASE("walked elements: what differs between devices is no function of elements") {
  auto result = run_text(R"(HloModule m
f { a = u32[] parameter(0)
  id = u32[] replica-id()
  ROOT r = u32[] add(a, id) }
ENTRY e {
  x = u32[4] parameter(0)
  ROOT m = u32[4] map(x), dimensions={0}, to_apply=f
})",
                         2, 1);
  REQUIRE(!result);
  CHECK(result.error().kind == Stop::Kind::kUnsupported);
  CHECK(result.error().message.find("%id") != std::string::npos);
}

TEST_CASE("reducers of more precision than what they reduce") {
  auto result = run_text(R"(HloModule m, replica_count=2
sum { a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT r = f32[] add(a, b) }
ENTRY e {
  x = bf16[3] constant({256, 1, 1})
  all = bf16[3] all-reduce(x), replica_groups={{0,1}}, to_apply=sum
  zero = bf16[] constant(0)
  w = f32[2] reduce-window(x, zero), window={size=2}, to_apply=sum
  a = f32[3] convert(all)
  ROOT t = (f32[3], f32[2]) tuple(a, w)
})",
                         2, 1);
  INFO((result ? "" : result.error().message));
  REQUIRE(result);
  CHECK(values<float>(*result, 0, 0) == F32{512, 2, 2});
  CHECK(values<float>(*result, 0, 1) == F32{257, 2});
}

}  // namespace
}  // namespace minihlo
