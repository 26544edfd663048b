// The walker, through the simulator: strands that part and join, loops, meetings and what goes
// wrong at them.
#include <doctest/doctest.h>

#include "tests/sim/run/run_testing.h"

namespace minihlo {
namespace {

using testing::per_device;
using testing::run_text;
using testing::values;

using S32 = std::vector<int32_t>;
using U32 = std::vector<uint32_t>;

TEST_CASE("walker: a conditional parts devices and joins them again") {
  auto result = run_text(R"(HloModule m
double { x = u32[] parameter(0)
  ROOT r = u32[] add(x, x) }
plus_ten { x = u32[] parameter(0)
  ten = u32[] constant(10)
  ROOT r = u32[] add(x, ten) }
ENTRY e {
  id = u32[] partition-id()
  two = u32[] constant(2)
  odd = u32[] remainder(id, two)
  one = u32[] constant(1)
  test = pred[] compare(odd, one), direction=EQ
  c = u32[] conditional(test, id, id), true_computation=double, false_computation=plus_ten
  ROOT r = u32[] add(c, id)
})",
                         1, 5);
  REQUIRE(result);
  CHECK(per_device<uint32_t>(*result) == U32{10, 3, 14, 9, 18});
}

TEST_CASE("walker: a branch number outside of the list takes the last branch") {
  auto result = run_text(R"(HloModule m
a { x = s32[] parameter(0)
  ROOT r = s32[] constant(100) }
b { x = s32[] parameter(0)
  ROOT r = s32[] constant(200) }
c { x = s32[] parameter(0)
  ROOT r = s32[] add(x, x) }
ENTRY e {
  id = u32[] partition-id()
  signed = s32[] convert(id)
  one = s32[] constant(1)
  branch = s32[] subtract(signed, one)
  ROOT r = s32[] conditional(branch, signed, signed, signed), branch_computations={a, b, c}
})",
                         1, 5);
  REQUIRE(result);
  CHECK(per_device<int32_t>(*result) == S32{0, 100, 200, 6, 8});
}

TEST_CASE("walker: a loop runs as often on each device as its own test says") {
  const char* text = R"(HloModule m
cond { s = (u32[], u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  ROOT t = pred[] compare(i, n), direction=LT }
body { s = (u32[], u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  a = u32[] get-tuple-element(s), index=2
  one = u32[] constant(1)
  j = u32[] add(i, one)
  b = u32[] add(a, j)
  ROOT r = (u32[], u32[], u32[]) tuple(j, n, b) }
ENTRY e {
  id = u32[] partition-id()
  zero = u32[] constant(0)
  s = (u32[], u32[], u32[]) tuple(zero, id, zero)
  w = (u32[], u32[], u32[]) while(s), condition=cond, body=body
  ROOT r = u32[] get-tuple-element(w), index=2
})";
  auto result = run_text(text, 1, 6);
  REQUIRE(result);
  CHECK(per_device<uint32_t>(*result) == U32{0, 1, 3, 6, 10, 15});
  auto replicas = run_text(text, 6, 1);
  REQUIRE(replicas);
  CHECK(per_device<uint32_t>(*replicas) == U32{0, 0, 0, 0, 0, 0});
}

TEST_CASE("walker: loops in loops, with trip counts of their own on every device") {
  auto result = run_text(R"(HloModule m
inner_cond { s = (u32[], u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  ROOT t = pred[] compare(i, n), direction=LT }
inner_body { s = (u32[], u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  a = u32[] get-tuple-element(s), index=2
  one = u32[] constant(1)
  j = u32[] add(i, one)
  b = u32[] add(a, one)
  ROOT r = (u32[], u32[], u32[]) tuple(j, n, b) }
outer_cond { s = (u32[], u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  ROOT t = pred[] compare(i, n), direction=LT }
outer_body { s = (u32[], u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  a = u32[] get-tuple-element(s), index=2
  zero = u32[] constant(0)
  t = (u32[], u32[], u32[]) tuple(zero, i, a)
  w = (u32[], u32[], u32[]) while(t), condition=inner_cond, body=inner_body
  b = u32[] get-tuple-element(w), index=2
  one = u32[] constant(1)
  j = u32[] add(i, one)
  ROOT r = (u32[], u32[], u32[]) tuple(j, n, b) }
ENTRY e {
  id = u32[] partition-id()
  zero = u32[] constant(0)
  s = (u32[], u32[], u32[]) tuple(zero, id, zero)
  w = (u32[], u32[], u32[]) while(s), condition=outer_cond, body=outer_body
  ROOT r = u32[] get-tuple-element(w), index=2
})",
                         1, 5);
  REQUIRE(result);
  CHECK(per_device<uint32_t>(*result) == U32{0, 0, 1, 3, 6});
}

// Devices 0 and 1 take one branch, 2 and 3 the other; each branch has a collective of its own.
std::string branches(std::string_view yes_groups, std::string_view no_groups,
                     std::string_view more = "") {
  return fmt::format(R"(HloModule m
sum {{ a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT r = u32[] add(a, b) }}
yes {{ x = u32[] parameter(0)
  ROOT r = u32[] all-reduce(x), channel_id=1, use_global_device_ids=true, replica_groups={}, to_apply=sum }}
no {{ x = u32[] parameter(0)
  one = u32[] constant(1)
  y = u32[] add(x, one)
  ROOT r = u32[] all-reduce(y), channel_id=1, use_global_device_ids=true, replica_groups={}{}, to_apply=sum }}
ENTRY e {{
  id = u32[] partition-id()
  two = u32[] constant(2)
  test = pred[] compare(id, two), direction=LT
  ROOT c = u32[] conditional(test, id, id), true_computation=yes, false_computation=no
}})",
                     yes_groups, no_groups, more);
}

TEST_CASE("walker: groups inside a branch need nobody else") {
  auto result = run_text(branches("{{0,1},{2,3}}", "{{0,1},{2,3}}"), 1, 4);
  REQUIRE(result);
  CHECK(per_device<uint32_t>(*result) == U32{1, 1, 7, 7});
}

TEST_CASE("walker: devices in different branches meet at the same channel") {
  auto result = run_text(branches("{{0,2},{1,3}}", "{{0,2},{1,3}}"), 1, 4);
  REQUIRE(result);
  CHECK(per_device<uint32_t>(*result) == U32{3, 5, 3, 5});
}

TEST_CASE("walker: meetings whose groups differ are a mismatch") {
  auto result = run_text(branches("{{0,1,2,3}}", "{{0,2},{1,3}}"), 1, 4);
  REQUIRE(!result);
  CHECK(result.error().kind == Stop::Kind::kMismatch);
  CHECK(result.error().message.find("groups differ") != std::string::npos);
  CHECK(result.error().message.find("device 0 (replica 0, partition 0)") != std::string::npos);
}

TEST_CASE("walker: a collective that some never reach is a deadlock, and the report says who") {
  auto result = run_text(R"(HloModule m
sum { a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT r = u32[] add(a, b) }
yes { x = u32[] parameter(0)
  ROOT r = u32[] all-reduce(x), channel_id=7, use_global_device_ids=true, replica_groups={{0,1,2}}, to_apply=sum, metadata={source_file="train.py" source_line=12} }
no { ROOT x = u32[] parameter(0) }
ENTRY e {
  id = u32[] partition-id()
  two = u32[] constant(2)
  test = pred[] compare(id, two), direction=LT
  ROOT c = u32[] conditional(test, id, id), true_computation=yes, false_computation=no
})",
                         1, 3);
  REQUIRE(!result);
  CHECK(result.error().kind == Stop::Kind::kDeadlock);
  const std::string& report = result.error().message;
  CAPTURE(report);
  CHECK(report.find("devices 0, 1 wait at %r") != std::string::npos);
  CHECK(report.find("train.py:12") != std::string::npos);
  CHECK(report.find("for device 2 (replica 0, partition 2)") != std::string::npos);
  CHECK(report.find("branch 0 (%yes) of %c") != std::string::npos);
}

TEST_CASE("walker: collectives in opposite orders are a cycle") {
  auto result = run_text(R"(HloModule m
sum { a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT r = u32[] add(a, b) }
first { x = u32[] parameter(0)
  p = u32[] all-reduce(x), channel_id=1, use_global_device_ids=true, replica_groups={{0,1}}, to_apply=sum
  ROOT q = u32[] all-reduce(p), channel_id=2, use_global_device_ids=true, replica_groups={{0,1}}, to_apply=sum }
second { x = u32[] parameter(0)
  q = u32[] all-reduce(x), channel_id=2, use_global_device_ids=true, replica_groups={{0,1}}, to_apply=sum
  ROOT p = u32[] all-reduce(q), channel_id=1, use_global_device_ids=true, replica_groups={{0,1}}, to_apply=sum }
ENTRY e {
  id = u32[] partition-id()
  one = u32[] constant(1)
  test = pred[] compare(id, one), direction=LT
  ROOT c = u32[] conditional(test, id, id), true_computation=first, false_computation=second
})",
                         1, 2);
  REQUIRE(!result);
  CHECK(result.error().kind == Stop::Kind::kDeadlock);
  CAPTURE(result.error().message);
  CHECK(result.error().message.find("cycle") != std::string::npos);
}

TEST_CASE("walker: some groups of a collective go on while others wait") {
  // Devices 0 and 1 meet at once; 2 and 3 only when 3 comes out of its loop.
  auto result = run_text(R"(HloModule m
sum { a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT r = u32[] add(a, b) }
cond { s = (u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  ROOT t = pred[] compare(i, n), direction=LT }
body { s = (u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  one = u32[] constant(1)
  j = u32[] add(i, one)
  ROOT r = (u32[], u32[]) tuple(j, n) }
spin { x = u32[] parameter(0)
  zero = u32[] constant(0)
  s = (u32[], u32[]) tuple(zero, x)
  w = (u32[], u32[]) while(s), condition=cond, body=body
  i = u32[] get-tuple-element(w), index=0
  ROOT r = u32[] all-reduce(i), channel_id=3, use_global_device_ids=true, replica_groups={{0,1},{2,3}}, to_apply=sum }
still { x = u32[] parameter(0)
  ROOT r = u32[] all-reduce(x), channel_id=3, use_global_device_ids=true, replica_groups={{0,1},{2,3}}, to_apply=sum }
ENTRY e {
  id = u32[] partition-id()
  three = u32[] constant(3)
  test = pred[] compare(id, three), direction=EQ
  ROOT c = u32[] conditional(test, id, id), true_computation=spin, false_computation=still
})",
                         1, 4);
  REQUIRE(result);
  CHECK(per_device<uint32_t>(*result) == U32{1, 1, 5, 5});
}

TEST_CASE("walker: a collective in a loop that one device leaves earlier is a deadlock") {
  auto result = run_text(R"(HloModule m
cond { s = (u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  ROOT t = pred[] compare(i, n), direction=LT }
body { s = (u32[], u32[]) parameter(0)
  i = u32[] get-tuple-element(s), index=0
  n = u32[] get-tuple-element(s), index=1
  one = u32[] constant(1)
  moved = u32[] collective-permute(i), channel_id=1, source_target_pairs={{0,1},{1,0}}
  j = u32[] add(moved, one)
  ROOT r = (u32[], u32[]) tuple(j, n) }
ENTRY e {
  id = u32[] partition-id()
  one = u32[] constant(1)
  n = u32[] add(id, one)
  zero = u32[] constant(0)
  s = (u32[], u32[]) tuple(zero, n)
  w = (u32[], u32[]) while(s), condition=cond, body=body
  ROOT r = u32[] get-tuple-element(w), index=0
})",
                         1, 2);
  REQUIRE(!result);
  CHECK(result.error().kind == Stop::Kind::kDeadlock);
  CAPTURE(result.error().message);
  CHECK(result.error().message.find("%w after 1 trips") != std::string::npos);
}

TEST_CASE("walker: starts do their work, dones show it") {
  auto result = run_text(R"(HloModule m
sum { a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT r = u32[] add(a, b) }
twice { x = u32[] parameter(0)
  ROOT r = u32[] add(x, x) }
ENTRY e {
  id = u32[] partition-id()
  v = u32[1] reshape(id)
  gs = (u32[1], u32[3]) all-gather-start(v), dimensions={0}, channel_id=1, use_global_device_ids=true, replica_groups={{0,1,2}}
  g = u32[3] all-gather-done(gs)
  ps = (u32[1], u32[1], u32[], u32[]) collective-permute-start(v), channel_id=2, source_target_pairs={{0,1},{1,2}}
  p = u32[1] collective-permute-done(ps)
  rs = u32[] all-reduce-start(id), channel_id=3, use_global_device_ids=true, replica_groups={{0,1,2}}, to_apply=sum
  r = u32[] all-reduce-done(rs)
  as = ((u32[]), u32[], u32[]) async-start(id), calls=twice
  au = ((u32[]), u32[], u32[]) async-update(as)
  a = u32[] async-done(au)
  cs = (u32[3], u32[3], u32[]) copy-start(g)
  c = u32[3] copy-done(cs)
  ROOT t = (u32[3], u32[1], u32[], u32[]) tuple(c, p, r, a)
})",
                         1, 3);
  REQUIRE(result);
  for (size_t device = 0; device < 3; ++device) {
    auto id = static_cast<uint32_t>(device);
    CHECK(values<uint32_t>(*result, device, 0) == U32{0, 1, 2});
    CHECK(values<uint32_t>(*result, device, 1) == U32{id == 0 ? 0 : id - 1});
    CHECK(values<uint32_t>(*result, device, 2) == U32{3});
    CHECK(values<uint32_t>(*result, device, 3) == U32{2 * id});
  }
}

TEST_CASE("walker: limits of steps and time end a loop that never does") {
  const char* text = R"(HloModule m
cond { s = u32[] parameter(0)
  ROOT t = pred[] constant(true) }
body { s = u32[] parameter(0)
  one = u32[] constant(1)
  ROOT r = u32[] add(s, one) }
ENTRY e {
  zero = u32[] constant(0)
  ROOT w = u32[] while(zero), condition=cond, body=body
})";
  RunOptions steps;
  steps.max_steps = 1000;
  auto by_steps = run_text(text, 1, 1, steps);
  REQUIRE(!by_steps);
  CHECK(by_steps.error().kind == Stop::Kind::kSteps);
  RunOptions time;
  time.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
  auto by_time = run_text(text, 1, 1, time);
  REQUIRE(!by_time);
  CHECK(by_time.error().kind == Stop::Kind::kTime);
}

}  // namespace
}  // namespace minihlo
