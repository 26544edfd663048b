// The passes that make rings and permutes of other collectives, on random meshes, groups, shapes
// and types: what comes out verifies, runs to the same bits, and is proved where the prover can.
#include <map>

#include <doctest/doctest.h>

#include "tests/passes/random_groups.h"
#include "tests/passes/run_passes.h"
#include "tests/passes/same_outputs.h"

namespace minihlo {
namespace {

using testing::below;
using testing::one_of;
using testing::Outcome;
using testing::Random;
using testing::random_groups;
using testing::RandomGroups;

const std::vector<GroupMode> kAllModes = {
    GroupMode::kCrossReplica, GroupMode::kCrossReplicaAndPartition, GroupMode::kFlattenedId};
const std::vector<std::string> kMovedTypes = {"f32", "s32", "bf16", "pred",  "u8",
                                              "s4",  "c64", "f64",  "f8e5m2"};

std::vector<int64_t> random_dims(Random& random, int64_t rank) {
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < rank; ++i) dims.push_back(1 + below(random, 4));
  return dims;
}

std::string shape_text(const std::string& type, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", type, fmt::join(dims, ","));
}

// Whether all that is left alone is so because its groups have one member, or their rings go too
// many ways over replicas and partitions.
bool only_impossible_left(const Outcome& outcome) {
  return std::ranges::all_of(outcome.entries, [](const PassEntry& entry) {
    return entry.rewritten || entry.reason == "its groups have one member each" ||
           entry.reason.find("its groups reach over replicas and partitions in more than") == 0;
  });
}

// Two collectives of one random kind, of which the second takes what the first gives, in a loop, in
// a called computation or in the entry.
std::string wrapped(Random& random, const RandomGroups& groups, const std::string& computations,
                    const std::string& from, const std::string& to, const std::string& line) {
  const std::string head = groups.header() + "\n" + computations;
  switch (below(random, 3)) {
    case 0:
      return head + fmt::format("ENTRY e {{\n  x = {} parameter(0)\n  ROOT {}\n}}\n", from, line);
    case 1:
      return head + fmt::format(
                        "f {{\n  x = {0} parameter(0)\n  ROOT {1}\n}}\nENTRY e {{\n  "
                        "x0 = {0} parameter(0)\n  ROOT c = {2} call(x0), to_apply=f\n}}\n",
                        from, line, to);
    default:
      return head + fmt::format(R"(b {{
  p = (s32[], {0}, {1}) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  x = {0} get-tuple-element(p), index=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  {2}
  ROOT t = (s32[], {0}, {1}) tuple(j, x, r)
}}
c {{
  q = (s32[], {0}, {1}) parameter(0)
  k = s32[] get-tuple-element(q), index=0
  n = s32[] constant(2)
  ROOT l = pred[] compare(k, n), direction=LT
}}
ENTRY e {{
  y = {0} parameter(0)
  z = {1} parameter(1)
  o = s32[] constant(0)
  s = (s32[], {0}, {1}) tuple(o, y, z)
  w = (s32[], {0}, {1}) while(s), condition=c, body=b
  ROOT g = {1} get-tuple-element(w), index=2
}}
)",
                                from, to, line);
  }
}

TEST_CASE("ring: all-gathers are what they were, bit for bit") {
  const std::vector<std::string> options = {"", "{directions=2}", "{form=unrolled}",
                                            "{form=unrolled directions=2}"};
  Random random(1);
  int rewritten = 0;
  for (int i = 0; i < 160; ++i) {
    CAPTURE(i);
    const RandomGroups groups = random_groups(random, kAllModes);
    const std::string type = one_of(random, kMovedTypes);
    std::vector<int64_t> dims = random_dims(random, 1 + below(random, 3));
    const std::string from = shape_text(type, dims);
    const auto axis = static_cast<size_t>(below(random, static_cast<int64_t>(dims.size())));
    dims[axis] *= groups.members;
    const std::string to = shape_text(type, dims);
    const std::string line =
        fmt::format("r = {} all-gather(x){}, dimensions={{{}}}", to, groups.attributes, axis);
    const Outcome outcome = testing::compare_outputs("all-gather-to-ring" + one_of(random, options),
                                                     wrapped(random, groups, "", from, to, line));
    REQUIRE(only_impossible_left(outcome));
    REQUIRE(outcome.difference == "");
    REQUIRE(outcome.proof.verdict == prove::Verdict::kProved);
    rewritten += outcome.all_rewritten();
  }
  CHECK(rewritten > 100);
}

// A reducer of a type, and what any order of its arguments does.
struct Reducer {
  enum class AnyOrder { kKeepsBits, kKeepsBitsOfRoundNumbers, kRounds };
  std::string type, opcode;
  AnyOrder any_order;
};
const std::vector<Reducer> kReducers = {{"s32", "add", Reducer::AnyOrder::kKeepsBits},
                                        {"u8", "multiply", Reducer::AnyOrder::kKeepsBits},
                                        {"bf16", "maximum", Reducer::AnyOrder::kKeepsBits},
                                        {"f32", "minimum", Reducer::AnyOrder::kKeepsBits},
                                        {"pred", "and", Reducer::AnyOrder::kKeepsBits},
                                        {"s64", "xor", Reducer::AnyOrder::kKeepsBits},
                                        {"f32", "add", Reducer::AnyOrder::kKeepsBitsOfRoundNumbers},
                                        {"c64", "add", Reducer::AnyOrder::kKeepsBitsOfRoundNumbers},
                                        {"f32", "multiply", Reducer::AnyOrder::kRounds},
                                        {"bf16", "add", Reducer::AnyOrder::kRounds},
                                        {"f64", "divide", Reducer::AnyOrder::kRounds},
                                        {"f16", "subtract", Reducer::AnyOrder::kRounds}};

std::string computation(const Reducer& reducer) {
  return fmt::format(
      "red {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  ROOT o = {0}[] "
      "{1}(a, b)\n}}\n",
      reducer.type, reducer.opcode);
}

const std::vector<std::string> kInOrder = {"", "{form=unrolled}", "{order=group form=loop}"};
const std::vector<std::string> kInRing = {"{order=ring}", "{order=ring directions=2}",
                                          "{order=ring form=unrolled}",
                                          "{order=ring form=unrolled directions=2}"};

// In another order subtract and divide are not what they were at all.
const Reducer& random_reducer(Random& random, bool in_order) {
  for (;;) {
    const Reducer& reducer = one_of(random, kReducers);
    if (in_order || reducer.any_order != Reducer::AnyOrder::kRounds) return reducer;
  }
}

// Requires the bits that were there before, and a proof wherever no input can give others.
void check_reduction(const Outcome& outcome, const Reducer& reducer, bool in_order) {
  REQUIRE(only_impossible_left(outcome));
  REQUIRE_MESSAGE(outcome.difference == "", outcome.text);
  if (in_order || reducer.any_order == Reducer::AnyOrder::kKeepsBits) {
    REQUIRE_MESSAGE(outcome.proof.verdict == prove::Verdict::kProved, outcome.text);
  }
}

TEST_CASE("ring: all-reduces are what they were, bit for bit") {
  Random random(2);
  int rewritten = 0;
  for (int i = 0; i < 240; ++i) {
    CAPTURE(i);
    const bool in_order = below(random, 2) == 0;
    const RandomGroups groups = random_groups(random, kAllModes);
    const Reducer& reducer = random_reducer(random, in_order);
    std::vector<int64_t> dims = random_dims(random, below(random, 4));
    if (!dims.empty() && below(random, 3) == 0) dims.back() *= groups.members;
    const std::string shape = shape_text(reducer.type, dims);
    const std::string line =
        fmt::format("r = {} all-reduce(x){}, to_apply=red", shape, groups.attributes);
    const Outcome outcome = testing::compare_outputs(
        "all-reduce-to-ring" + one_of(random, in_order ? kInOrder : kInRing),
        wrapped(random, groups, computation(reducer), shape, shape, line));
    check_reduction(outcome, reducer, in_order);
    rewritten += outcome.all_rewritten();
  }
  CHECK(rewritten > 150);
}

TEST_CASE("ring: reduce-scatters are what they were, bit for bit") {
  Random random(3);
  int rewritten = 0;
  for (int i = 0; i < 240; ++i) {
    CAPTURE(i);
    const bool in_order = below(random, 2) == 0;
    const RandomGroups groups = random_groups(random, kAllModes);
    const Reducer& reducer = random_reducer(random, in_order);
    std::vector<int64_t> dims = random_dims(random, 1 + below(random, 3));
    const std::string to = shape_text(reducer.type, dims);
    const auto axis = static_cast<size_t>(below(random, static_cast<int64_t>(dims.size())));
    dims[axis] *= groups.members;
    const std::string from = shape_text(reducer.type, dims);
    const std::string line = fmt::format(
        "r = {} reduce-scatter(x){}, dimensions={{{}}}, "
        "to_apply=red",
        to, groups.attributes, axis);
    const Outcome outcome = testing::compare_outputs(
        "reduce-scatter-to-ring" + one_of(random, in_order ? kInOrder : kInRing),
        wrapped(random, groups, computation(reducer), from, to, line));
    check_reduction(outcome, reducer, in_order);
    rewritten += outcome.all_rewritten();
  }
  CHECK(rewritten > 150);
}

TEST_CASE("ring: all-to-alls are what they were, bit for bit") {
  Random random(4);
  int rewritten = 0;
  for (int i = 0; i < 160; ++i) {
    CAPTURE(i);
    const RandomGroups groups =
        random_groups(random, {GroupMode::kCrossReplica, GroupMode::kCrossPartition});
    const std::string type = one_of(random, kMovedTypes);
    const bool is_array = below(random, 2) == 0;
    std::vector<int64_t> dims = random_dims(random, below(random, 3) + is_array);
    std::string text;
    if (is_array) {
      const auto axis = static_cast<size_t>(below(random, static_cast<int64_t>(dims.size())));
      dims[axis] *= groups.members;
      const std::string shape = shape_text(type, dims);
      text = wrapped(
          random, groups, "", shape, shape,
          fmt::format("r = {} all-to-all(x){}, dimensions={{{}}}", shape, groups.attributes, axis));
    } else {
      const std::string shape = shape_text(type, dims);
      std::vector<std::string> shapes(static_cast<size_t>(groups.members), shape), operands;
      std::string lines;
      for (int64_t m = 0; m < groups.members; ++m) {
        operands.push_back(fmt::format("x{}", m));
        lines += fmt::format("  x{0} = {1} parameter({0})\n", m, shape);
      }
      const std::string result = fmt::format("({})", fmt::join(shapes, ", "));
      text =
          groups.header() + fmt::format("ENTRY e {{\n{}  ROOT r = {} all-to-all({}){}\n}}\n", lines,
                                        result, fmt::join(operands, ", "), groups.attributes);
    }
    const Outcome outcome = testing::compare_outputs("all-to-all-to-permutes", text);
    REQUIRE(only_impossible_left(outcome));
    REQUIRE(outcome.difference == "");
    REQUIRE(outcome.proof.verdict == prove::Verdict::kProved);
    rewritten += outcome.all_rewritten();
  }
  CHECK(rewritten > 80);
}

// A long ring crosses the mesh in more ways than there are shifts for.
TEST_CASE("ring: groups over replicas and partitions") {
  const std::string line =
      "ROOT r = s32[12] all-gather(x), channel_id=1, dimensions={0}, "
      "use_global_device_ids=true, replica_groups=";
  const std::string head =
      "HloModule m, replica_count=3, num_partitions=4\nENTRY e {\n  x = s32[1] parameter(0)\n  ";
  const Outcome snake = testing::compare_outputs(
      "all-gather-to-ring", head + line + "{{0,1,2,3,7,6,5,4,8,9,10,11}}\n}\n");
  CHECK(snake.all_rewritten());
  CHECK(snake.difference == "");
  CHECK(snake.proof.verdict == prove::Verdict::kProved);
}

TEST_CASE("ring: start and done pairs, several operands, metadata, order") {
  const Outcome outcome = testing::compare_outputs("all-gather-to-ring,all-reduce-to-ring", R"(
HloModule m, num_partitions=3

add {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT c = s32[] add(a, b)
}

ENTRY e {
  x = s32[2] parameter(0)
  y = s32[2,3] parameter(1)
  n = s32[2] negate(x)
  g = (s32[6], s32[6,3]) all-gather(x, y), channel_id=1, replica_groups={{0,1,2}}, dimensions={0}, use_global_device_ids=true
  s = (s32[2], s32[6]) all-gather-start(x), channel_id=1, replica_groups={{2,1,0}}, dimensions={0}, use_global_device_ids=true, control-predecessors={n}
  z = s32[2] abs(n)
  d = s32[6] all-gather-done(s), metadata={op_name="gathered"}
  t = s32[2,3] all-reduce-start(y), channel_id=1, replica_groups={{2,1,0}}, to_apply=add, use_global_device_ids=true
  u = s32[2,3] all-reduce-done(t)
  g0 = s32[6] get-tuple-element(g), index=0
  ROOT r = (s32[6], s32[6], s32[2,3], s32[2]) tuple(g0, d, u, z)
}
)");
  CHECK(outcome.difference == "");
  CHECK(outcome.entries.size() == 3);
  CHECK(outcome.all_rewritten());
  CHECK(outcome.text.find("op_name=\"gathered\"") != std::string::npos);
  CHECK(outcome.text.find("control-predecessors={%n}") != std::string::npos);
}

// A permute waits for all of its row or column, an all-gather for its group alone.
TEST_CASE("ring: where devices part, only rings of all that a permute waits for are made") {
  const auto outcome = [](const std::string& header, const std::string& groups,
                          const std::string& test, const std::string& other) {
    return testing::compare_outputs("all-gather-to-ring", fmt::format(R"(HloModule m, {}

max {{
  a = u32[] parameter(0)
  b = u32[] parameter(1)
  ROOT c = u32[] maximum(a, b)
}}
t {{
  p = f32[1] parameter(0)
  g = f32[2] all-gather(p), channel_id=1, replica_groups={{{{0,1}},{{2,3}}}}, dimensions={{0}}, use_global_device_ids=true
  ROOT s = f32[1] slice(g), slice={{[1:2]}}
}}
f {{
  p = f32[1] parameter(0)
  {}
}}
ENTRY e {{
  x = f32[1] parameter(0)
  n = u32[] parameter(1)
  i = u32[] partition-id()
  r = u32[] replica-id()
  one = u32[] constant(1)
  m = u32[] all-reduce(n), channel_id=2, replica_groups={{{}}}, use_global_device_ids=true, to_apply=max
  v = u32[] {}
  c = pred[] compare(v, one), direction=GT
  ROOT d = f32[1] conditional(c, x, x), true_computation=t, false_computation=f
}}
)",
                                                                      header, other, groups, test));
  };
  const std::string alone =
      "devices of other groups may not come to it, and a permute waits for all";
  const std::string negate = "ROOT o = f32[1] negate(p)";
  const std::string all = "{0,1,2,3}", halves = "{0,1},{2,3}";
  // By id: devices 2 and 3 come.
  Outcome by_id = outcome("num_partitions=4", all, "copy(i)", negate);
  CHECK(by_id.entries[0].reason == alone);
  // By what is the same on all devices.
  Outcome by_all = outcome("num_partitions=4", all, "copy(m)", negate);
  CHECK(by_all.all_rewritten());
  CHECK(by_all.difference == "");
  // By what is the same in each half.
  Outcome by_half = outcome("num_partitions=4", halves, "copy(m)", negate);
  CHECK(by_half.entries[0].reason == alone);
  // By what is only one device's.
  Outcome by_own = outcome("num_partitions=4", all, "add(m, n)", negate);
  CHECK(by_own.entries[0].reason == alone);
  // A row of the mesh waits for nobody else.
  Outcome by_row = outcome("replica_count=2, num_partitions=2", all, "add(r, one)", negate);
  CHECK(by_row.all_rewritten());
  CHECK(by_row.difference == "");
  CHECK(by_row.proof.verdict == prove::Verdict::kProved);
  // The other branch has the channel, too: devices 0 and 1 may meet in different ones.
  Outcome meeting = outcome(
      "num_partitions=4", all, "copy(m)",
      "g = f32[2] all-gather(p), channel_id=1, replica_groups={{0,1},{2,3}}, dimensions={0}, "
      "use_global_device_ids=true\n  ROOT s = f32[1] slice(g), slice={[0:1]}");
  REQUIRE(meeting.entries.size() == 2);
  for (const PassEntry& entry : meeting.entries) {
    CHECK(entry.reason ==
          "devices may meet in it that are at collectives of its channel in other "
          "branches");
  }
}

TEST_CASE("ring: what is left alone, and why") {
  const std::map<std::string, std::string> cases = {
      {"x = s32[2] parameter(0)\n  ROOT r = s32[2] all-gather(x), channel_id=1, "
       "replica_groups={{0},{1}}, dimensions={0}, use_global_device_ids=true",
       "its groups have one member each"},
      {"x = s32[0] parameter(0)\n  ROOT r = s32[0] all-gather(x), channel_id=1, "
       "replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true",
       "it has no elements, so there is nothing to move"},
      {"x = s32[0] parameter(0)\n  ROOT r = s32[0] all-reduce(x), channel_id=1, to_apply=add, "
       "replica_groups={{0,1}}, use_global_device_ids=true",
       "it has no elements, so there is nothing to reduce"},
      {"x = f32[4] parameter(0)\n  ROOT r = f32[4] all-reduce(x), channel_id=1, to_apply=add, "
       "replica_groups={{0,1}}, use_global_device_ids=true",
       "its reducer is not one of two values of its operand's type"},
      {"x = s32[<=2] parameter(0)\n  ROOT r = s32[<=2] all-reduce(x), channel_id=1, to_apply=add, "
       "replica_groups={{0,1}}, use_global_device_ids=true",
       "it has a dynamic dimension"},
  };
  for (const auto& [lines, reason] : cases) {
    CAPTURE(lines);
    const std::string text =
        "HloModule m, num_partitions=2\nadd {\n  a = s32[] parameter(0)\n  b = s32[] "
        "parameter(1)\n  ROOT c = s32[] add(a, b)\n}\nENTRY e {\n  " +
        lines + "\n}\n";
    testing::PassRun run = testing::run_passes("all-gather-to-ring,all-reduce-to-ring", text);
    REQUIRE(run.error == "");
    REQUIRE(run.entries.size() == 1);
    CHECK(run.entries[0].reason == reason);
  }
  testing::PassRun run = testing::run_passes("all-reduce-to-ring{directions=2}",
                                             "HloModule m\nENTRY e {\n  ROOT x = s32[] "
                                             "parameter(0)\n}\n");
  CHECK(run.error.find("directions=2 needs order=ring") != std::string::npos);
}

}  // namespace
}  // namespace minihlo
