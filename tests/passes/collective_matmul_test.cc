// collective-matmul on random dots, groups and types: the same bits where no sum is reordered, or
// where numbers are so round that it does not matter; and proofs where the prover can.
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

const std::vector<GroupMode> kModes = {
    GroupMode::kCrossReplica, GroupMode::kCrossReplicaAndPartition, GroupMode::kFlattenedId};
const std::vector<std::string> kOptions = {"", "directions=2", "form=unrolled",
                                           "form=unrolled directions=2"};

const std::vector<std::string> kGatheredTypes = {"f32", "s32", "bf16", "f64"};
const std::vector<std::string> kSummedTypes = {"f64", "s32", "u16", "s8"};

// What a dimension of an operand is for.
enum class Role { kBatch, kSummed, kFree };

// A dot of random shapes, of which an operand's dimension is `members` times as long.
struct RandomDot {
  std::vector<Role> roles[2];
  std::vector<int64_t> dims[2];
  std::vector<int64_t> batch[2], summed[2];
  std::vector<int64_t> result;

  std::string attributes() const {
    return fmt::format(
        "lhs_batch_dims={{{}}}, lhs_contracting_dims={{{}}}, rhs_batch_dims={{{}}}, "
        "rhs_contracting_dims={{{}}}",
        fmt::join(batch[0], ","), fmt::join(summed[0], ","), fmt::join(batch[1], ","),
        fmt::join(summed[1], ","));
  }
};

std::string shape(const std::string& type, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", type, fmt::join(dims, ","));
}

RandomDot random_dot(Random& random) {
  RandomDot dot;
  const int64_t batches = below(random, 2), sums = 1 + below(random, 2);
  for (int side = 0; side < 2; ++side) {
    dot.roles[side].assign(static_cast<size_t>(batches), Role::kBatch);
    dot.roles[side].insert(dot.roles[side].end(), static_cast<size_t>(sums), Role::kSummed);
    dot.roles[side].insert(dot.roles[side].end(), static_cast<size_t>(1 + below(random, 2)),
                           Role::kFree);
    std::shuffle(dot.roles[side].begin(), dot.roles[side].end(), random);
    for (size_t axis = 0; axis < dot.roles[side].size(); ++axis) {
      if (dot.roles[side][axis] == Role::kBatch) dot.batch[side].push_back(int64_t(axis));
      if (dot.roles[side][axis] == Role::kSummed) dot.summed[side].push_back(int64_t(axis));
      dot.dims[side].push_back(1 + below(random, 3));
    }
    std::shuffle(dot.summed[side].begin(), dot.summed[side].end(), random);
  }
  return dot;
}

// Makes paired dimensions alike, the one of `side` being the one that counts, and finds the result.
void settle(RandomDot& dot, int side) {
  auto pair_up = [&](const std::vector<int64_t>* lists) {
    for (size_t i = 0; i < lists[0].size(); ++i) {
      dot.dims[1 - side][static_cast<size_t>(lists[1 - side][i])] =
          dot.dims[side][static_cast<size_t>(lists[side][i])];
    }
  };
  pair_up(dot.batch);
  pair_up(dot.summed);
  for (int64_t axis : dot.batch[0]) dot.result.push_back(dot.dims[0][static_cast<size_t>(axis)]);
  for (int s = 0; s < 2; ++s) {
    for (size_t axis = 0; axis < dot.dims[s].size(); ++axis) {
      if (dot.roles[s][axis] == Role::kFree) dot.result.push_back(dot.dims[s][axis]);
    }
  }
}

std::string pipeline(Random& random, bool contracted) {
  return fmt::format("collective-matmul{{contracted={} {}}}", contracted ? "yes" : "no",
                     one_of(random, kOptions));
}

TEST_CASE("collective matmul: gathered operands") {
  Random random(1);
  int rewritten = 0, contracted = 0;
  for (int i = 0; i < 160; ++i) {
    CAPTURE(i);
    const RandomGroups groups = random_groups(random, kModes);
    const std::string type = one_of(random, kGatheredTypes);
    RandomDot dot = random_dot(random);
    const int side = static_cast<int>(below(random, 2));
    std::vector<int64_t> shard = dot.dims[side];
    const auto axis = static_cast<size_t>(below(random, static_cast<int64_t>(shard.size())));
    const bool is_summed = dot.roles[side][axis] == Role::kSummed;
    dot.dims[side][axis] *= groups.members;
    settle(dot, side);
    const bool is_start = below(random, 3) == 0;
    const std::string whole = shape(type, dot.dims[side]);
    const std::string gather =
        is_start ? fmt::format(
                       "h = ({0}, {1}) all-gather-start(x){2}, dimensions={{{3}}}\n  "
                       "g = {1} all-gather-done(h)\n",
                       shape(type, shard), whole, groups.attributes, axis)
                 : fmt::format("g = {} all-gather(x){}, dimensions={{{}}}\n", whole,
                               groups.attributes, axis);
    const std::string text =
        groups.header() + fmt::format(
                              "ENTRY e {{\n  x = {} parameter(0)\n  y = {} "
                              "parameter(1)\n  {}  ROOT d = {} dot({}), {}\n}}\n",
                              shape(type, shard), shape(type, dot.dims[1 - side]), gather,
                              shape(type, dot.result), side == 0 ? "g, y" : "y, g",
                              dot.attributes());
    const Outcome outcome = testing::compare_outputs(pipeline(random, true), text);
    const bool may_round = is_summed && type != "s32";
    INFO(text << outcome.text);
    // Sums of products of round numbers are exact in f64.
    if (!may_round || type == "f64") REQUIRE(outcome.difference == "");
    if (!is_summed) REQUIRE(outcome.proof.verdict == prove::Verdict::kProved);
    const bool all = outcome.all_rewritten();
    REQUIRE((all || groups.members == 1 ||
             outcome.entries[0].reason.find("more than") != std::string::npos));
    rewritten += all;
    contracted += all && is_summed;
  }
  CHECK(rewritten > 100);
  CHECK(contracted > 20);
}

TEST_CASE("collective matmul: scattered results") {
  Random random(2);
  int rewritten = 0;
  for (int i = 0; i < 160; ++i) {
    CAPTURE(i);
    const RandomGroups groups = random_groups(random, kModes);
    const std::string type = one_of(random, kSummedTypes);
    RandomDot dot = random_dot(random);
    const int side = static_cast<int>(below(random, 2));
    // Some dimension of the result, by the operand that it comes from.
    std::vector<size_t> kept;
    for (size_t axis = 0; axis < dot.roles[side].size(); ++axis) {
      if (dot.roles[side][axis] != Role::kSummed) kept.push_back(axis);
    }
    const size_t axis = one_of(random, kept);
    dot.dims[side][axis] *= groups.members;
    settle(dot, side);
    size_t place = 0;
    if (dot.roles[side][axis] == Role::kBatch) {
      place = static_cast<size_t>(std::ranges::find(dot.batch[side], int64_t(axis)) -
                                  dot.batch[side].begin());
    } else {
      place = dot.batch[0].size();
      for (int s = 0; s <= side; ++s) {
        const size_t end = s == side ? axis : dot.dims[s].size();
        for (size_t at = 0; at < end; ++at) place += dot.roles[s][at] == Role::kFree;
      }
    }
    std::vector<int64_t> chunk = dot.result;
    chunk[place] /= groups.members;
    const std::string text =
        groups.header() +
        fmt::format(
            "add {{\n  a = {0}[] parameter(0)\n  b = {0}[] parameter(1)\n  ROOT c = {0}[] "
            "add(a, b)\n}}\nENTRY e {{\n  x = {1} parameter(0)\n  y = {2} parameter(1)\n  "
            "d = {3} dot(x, y), {4}\n  ROOT r = {5} reduce-scatter(d){6}, "
            "dimensions={{{7}}}, to_apply=add\n}}\n",
            type, shape(type, dot.dims[0]), shape(type, dot.dims[1]), shape(type, dot.result),
            dot.attributes(), shape(type, chunk), groups.attributes, place);
    const Outcome outcome = testing::compare_outputs(pipeline(random, false), text);
    INFO(text << outcome.text);
    REQUIRE(outcome.difference == "");
    if (type != "f64") {
      REQUIRE(outcome.proof.verdict == prove::Verdict::kProved);
    }
    const bool all = outcome.all_rewritten();
    REQUIRE((all || groups.members == 1 ||
             outcome.entries[0].reason.find("more than") != std::string::npos));
    rewritten += all;
  }
  CHECK(rewritten > 100);
}

// A dot between both: the gather goes first, and the scatter says why it stays.
TEST_CASE("collective matmul: what is left alone, and why") {
  const std::string head = R"(HloModule m, num_partitions=2
add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}
ENTRY e {
  x = f32[2,3] parameter(0)
  y = f32[3,4] parameter(1)
  z = f32[4,5] parameter(2)
  g = f32[4,3] all-gather(x), channel_id=1, replica_groups={{0,1}}, dimensions={0}, use_global_device_ids=true
)";
  const auto reasons = [&](const std::string& lines) {
    testing::PassRun run = testing::run_passes("collective-matmul", head + lines + "}\n");
    REQUIRE(run.error == "");
    std::vector<std::string> found;
    for (const PassEntry& entry : run.entries) found.push_back(entry.reason);
    return found;
  };
  using Reasons = std::vector<std::string>;
  const std::string dot =
      "d = f32[4,4] dot(g, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n";
  const std::string scatter =
      "s = f32[2,4] reduce-scatter(d), channel_id=1, replica_groups={{0,1}}, dimensions={0}, "
      "to_apply=add, use_global_device_ids=true\n";
  CHECK(reasons("ROOT " + dot) == Reasons{""});
  CHECK(reasons(dot + "ROOT " + scatter) ==
        Reasons{"", "its dot takes in the shards of an all-gather"});
  CHECK(reasons(dot + "ROOT t = (f32[4,4], f32[4,3]) tuple(d, g)\n") ==
        Reasons{"it has other users than one operand of one dot"});
  CHECK(reasons("ROOT d = f32[3,5] dot(g, z), lhs_contracting_dims={0}, "
                "rhs_contracting_dims={0}\n") ==
        Reasons{"its dimension is contracted: contracted=yes takes these"});
  // Who waits for the gather would wait for the dot.
  CHECK(
      reasons("n = f32[3,4] negate(y), control-predecessors={g}\n  d = f32[4,4] dot(g, n), "
              "lhs_contracting_dims={1}, rhs_contracting_dims={0}\n  ROOT r = f32[4,4] abs(d)\n") ==
      Reasons{"it has other users than one operand of one dot"});
}

}  // namespace
}  // namespace minihlo
