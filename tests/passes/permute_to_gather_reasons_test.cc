// What collective-permute-to-all-gather leaves alone and why, and where it fails.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include "tests/passes/permute_text.h"

namespace minihlo {
namespace {

using testing::kPair;
using testing::kPass;
using testing::module_text;
using testing::pass;
using testing::PassRun;
using testing::reason;
using testing::run_passes;

TEST_CASE("permute to gather: what is left alone, and why") {
  struct Row {
    std::string_view header, shape, permute, options, reason;
  };
  const std::string_view two = ", num_partitions=2";
  const std::string_view four = ", replica_count=4";
  const std::string_view swap = ", channel_id=1, source_target_pairs={{0,1},{1,0}}";
  const std::string_view ring = ", source_target_pairs={{0,1},{1,2},{2,3},{3,0}}";
  const std::string_view line = ", source_target_pairs={{0,1},{1,2},{2,3}}";
  const Row rows[] = {
      {two, "f32[4]", ", channel_id=1, source_target_pairs={{0,2}}", "",
       "its pairs name partition 2, beyond the mesh of 1 replicas and 2 partitions"},
      {two, "f32[4]", ", source_target_pairs={{1,0}}", "",
       "its pairs name replica 1, beyond the mesh of 1 replicas and 2 partitions"},
      {two, "f32[4]", ", source_target_pairs={{0,-1}}", "preset=neuron-2.24",
       "its pairs name device -1, beyond the mesh of 1 replicas and 2 partitions"},
      {two, "f32[4]", ", channel_id=1, source_target_pairs={{0,5}}", "preset=neuron-2.24",
       "its pairs name device 5, beyond the mesh of 1 replicas and 2 partitions"},
      {two, "f32[4]", ", channel_id=1, source_target_pairs={{0,1},{1,1}}", "",
       "its pairs are not valid: target 1 is named twice"},
      {two, "f32[4]", ", channel_id=1, source_target_pairs={{0,1},{0,0}}", "fill=identity",
       "its pairs are not valid: source 0 is named twice"},
      {two, "f32[]", swap, "axis=literal",
       "its operand is a scalar, which has no dimension to gather"},
      {two, "f32[]", swap, "preset=neuron-2.24",
       "its operand is a scalar, which has no dimension to gather"},
      {two, "f32[]", swap, "preset=neuron-2.24 axis=0",
       "its operand is a scalar, which has no dimension to gather"},
      {two, "f32[]", swap, "axis=1", "its operand has rank 0, so no dimension 1"},
      {two, "f32[3,4]", swap, "axis=2", "its operand has rank 2, so no dimension 2"},
      {two, "f32[0,4]", swap, "", "it has no elements, so there is nothing to move"},
      {two, "f32[<=4]", swap, "", "its operand has a dynamic dimension"},
      {two, "u8[4611686018427387904]", swap, "",
       "gathered from 2 devices its operand would have too many elements to count"},
      {", num_partitions=0", "f32[4]", swap, "",
       "a mesh of 1 replicas and 0 partitions has no devices"},
      {", num_partitions=1048577", "f32[4]", swap, "",
       "a mesh of 1 replicas and 1048577 partitions has more than 1048576 devices"},
      {four, "f32[4]", ring, "gate=fallback",
       "gate=fallback: its pairs are a full permutation inside groups of 4, which runs natively"},
      {four, "f32[4]", ring, "preset=neuron-2.24",
       "gate=fallback: its pairs are a full permutation inside groups of 4, which runs natively"},
      {four, "f32[4]", line, "gate=convertible", "gate=convertible: 0 is no target"},
      {two, "f32[4]", swap, "gate=convertible", "gate=convertible: pair {0,1} crosses groups of 1"},
  };
  for (const Row& row : rows) {
    std::string text = module_text(row.header, row.shape, row.permute);
    CAPTURE(text);
    CAPTURE(std::string(row.options));
    PassRun run = run_passes(pass(row.options), text, false);
    CHECK(reason(run) == row.reason);
    CHECK(run.text() == run_passes("dce", text, false).text());
    CHECK(run.log.back() == fmt::format("{}: %p in e: left alone: {}", kPass, row.reason));
  }
}

TEST_CASE("permute to gather: what the gates let through") {
  const std::string_view four = ", replica_count=4";
  const std::string_view ring = ", source_target_pairs={{0,1},{1,2},{2,3},{3,0}}";
  const std::string_view line = ", source_target_pairs={{0,1},{1,2},{2,3}}";
  for (std::string_view options : {"", "gate=convertible", "preset=neuron-2.24 gate=always"}) {
    CHECK(reason(run_passes(pass(options), module_text(four, "f32[4]", ring))) == "");
  }
  for (std::string_view options : {"", "gate=fallback", "preset=neuron-2.24"}) {
    CHECK(reason(run_passes(pass(options), module_text(four, "f32[4]", line))) == "");
  }
  // The preset moves what has no elements.
  CHECK(reason(run_passes(pass("preset=neuron-2.24"), module_text(four, "f32[0,4]", line))) == "");
}

TEST_CASE("permute to gather: a mesh beyond any mapping fails the whole pass") {
  std::string text = module_text(", replica_count=4611686018427387904, num_partitions=2", "f32[4]",
                                 ", source_target_pairs={{0,1},{1,0}}");
  for (std::string_view options : {"preset=neuron-2.24", "gate=fallback", "gate=convertible"}) {
    PassRun run = run_passes(pass(options), text, false);
    CHECK(run.error.starts_with(std::string(kPass) + ": length error: "));
    CHECK(run.text() == run_passes("dce", text, false).text());
  }
  CHECK(reason(run_passes(pass(), text, false)).find("has more than") != std::string::npos);
}

TEST_CASE("permute to gather: the mesh is the header's, the flags', or the option's") {
  std::string bare = module_text("", "f32[4]", ", channel_id=1, source_target_pairs={{0,1},{1,0}}");
  CHECK(reason(run_passes(pass(), bare)).find("beyond the mesh") != std::string::npos);
  CHECK(reason(run_passes(pass("mesh=2"), bare)) == "");
  CHECK(reason(run_passes(pass(), bare, true, 0, 2)) == "");
  // The option is read only where the module has neither replicas nor partitions.
  std::string replicas =
      module_text(", replica_count=2", "f32[4]", ", channel_id=1, source_target_pairs={{0,1}}");
  CHECK(reason(run_passes(pass("mesh=2"), replicas, false)).find("beyond") != std::string::npos);
  CHECK(reason(run_passes(pass(), replicas, false, 0, 2)) == "");
}

TEST_CASE("permute to gather: what it does not understand of pairs and buffers is left alone") {
  std::string used_twice(kPair);
  used_twice.replace(used_twice.find("add(c, d)"), 9, "add(c, g)");
  used_twice.insert(used_twice.find("  ROOT"), "  g = f32[4] get-tuple-element(s), index=1\n");
  CHECK(reason(run_passes(pass(), used_twice, false)) ==
        "it has other users than one collective-permute-done");

  CHECK(reason(run_passes(pass(), R"(HloModule m, num_partitions=2

ENTRY e {
  i = f32[4] parameter(0)
  o = f32[8] parameter(1)
  a = (s32[]) parameter(2)
  b = (s32[]) parameter(3)
  ROOT p = f32[8] collective-permute(i, o, a, b), channel_id=1, source_target_pairs={{0,1}}, slice_sizes={{4}}
}
)",
                          false)) == "it permutes slices of buffers in place");

  CHECK(reason(run_passes(pass(), R"(HloModule m, num_partitions=2

wrapped {
  x = f32[4] parameter(0)
  ROOT p = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1}}
}

ENTRY e {
  y = f32[4] parameter(0)
  s = ((f32[4]), f32[4]) async-start(y), calls=wrapped
  ROOT d = f32[4] async-done(s)
}
)",
                          false))
            .starts_with("it is all that an asynchronous computation runs"));

  CHECK(reason(run_passes(pass(), R"(HloModule m, num_partitions=2

ENTRY e {
  x = f32[4] parameter(0)
  ROOT p = f32[5] collective-permute(x), channel_id=1, source_target_pairs={{0,1}}
}
)",
                          false)) == "its shape is not that of its operand");
}

TEST_CASE("permute to gather: many permutes on a large mesh take linear time and bounded memory") {
  std::string text = "HloModule m, num_partitions=1024\n\nENTRY e {\n  x0 = f32[4] parameter(0)\n";
  std::string pairs;
  for (int i = 0; i < 1024; ++i)
    pairs += fmt::format("{}{{{},{}}}", i ? "," : "", i, (i + 1) % 1024);
  for (int i = 1; i <= 64; ++i) {
    text += fmt::format(
        "  {}x{} = f32[4] collective-permute(x{}), channel_id=1, "
        "source_target_pairs={{{}}}\n",
        i == 64 ? "ROOT " : "", i, i - 1, pairs);
  }
  PassRun run = run_passes(pass(), text + "}\n");
  CHECK(run.error == "");
  CHECK(run.all(Opcode::kAllGather).size() == 64);

  std::string enormous =
      "HloModule m, num_partitions=1048576\n\nENTRY e {\n"
      "  x0 = f32[4] parameter(0)\n";
  for (int i = 1; i <= 80; ++i) {
    enormous += fmt::format(
        "  {}x{} = f32[4] collective-permute(x{}), channel_id=1, "
        "source_target_pairs={{{{0,1}}}}\n",
        i == 80 ? "ROOT " : "", i, i - 1);
  }
  run = run_passes(pass("gate=convertible"), enormous + "}\n", false);
  CHECK(run.error == "");
  CHECK(!run.entries.back().rewritten);
}

}  // namespace
}  // namespace minihlo
