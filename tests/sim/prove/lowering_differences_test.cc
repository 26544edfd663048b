// Where the Neuron compiler's choices differ from XLA's semantics: a case for each row of the table
// in docs/lowering-pass.md, with the counterexample that shows it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "passes/pipeline.h"
#include "sim/prove/equivalence.h"
#include "tests/passes/permute_text.h"

namespace minihlo {
namespace {

using prove::EquivalenceResult;
using prove::Verdict;

struct Compared {
  EquivalenceResult result;
  std::unique_ptr<Module> rewritten;

  bool has(Opcode opcode) const {
    for (const Instruction* instruction : rewritten->entry()->instructions()) {
      if (instruction->opcode() == opcode) return true;
    }
    return false;
  }
};

// A module with one permute, against what the pass with these options makes of it.
Compared compare(std::string_view shape, Mesh mesh, std::string_view permute,
                 std::string_view options) {
  std::string header =
      fmt::format(", replica_count={}, num_partitions={}", mesh.replicas, mesh.partitions);
  std::unique_ptr<Module> module =
      testing::parse_module(testing::module_text(header, shape, permute));
  std::unique_ptr<Module> after = module->clone();
  auto source = Source::from_string("passes", testing::pass(options));
  Diagnostics diagnostics(source);
  std::optional<Pipeline> pipeline = parse_pipeline(source, diagnostics);
  REQUIRE(pipeline);
  PassContext context;
  REQUIRE(run_pipeline(*after, *pipeline, context, false));
  prove::EquivalenceOptions equivalence;
  equivalence.mesh = mesh;
  EquivalenceResult result = prove::check_equivalence(*module, *after, equivalence);
  return {std::move(result), std::move(after)};
}

constexpr std::string_view kPreset = "preset=neuron-2.24";

TEST_CASE("lowering differences: identity fill keeps own data where zeros belong") {
  Compared compared =
      compare("f32[3]", {4, 1}, ", source_target_pairs={{0,1},{1,2},{2,3}}", kPreset);
  REQUIRE(compared.result.verdict == Verdict::kRefuted);
  const prove::Counterexample& found = *compared.result.counterexample;
  CHECK(found.device == 0);
  CHECK(found.paths[0] == "the constant 0");
  CHECK(found.paths[1] == "parameter 0 (%x)[0] of device 0 (replica 0, partition 0)");
}

TEST_CASE("lowering differences: with partitions, identity fill gives another device's data") {
  // Replica 1 is no target; its entry is the flattened id 1: partition 1 of replica 0.
  Compared compared = compare("f32[3]", {2, 2}, ", source_target_pairs={{1,0}}", kPreset);
  REQUIRE(compared.result.verdict == Verdict::kRefuted);
  CHECK(compared.has(Opcode::kAllGather));
  Compared filled = compare("f32[3]", {2, 2}, ", source_target_pairs={{1,0}}",
                            "fill=identity id=replica groups=global");
  REQUIRE(filled.result.verdict == Verdict::kRefuted);
}

TEST_CASE("lowering differences: by replica-id all partitions read one shard") {
  Compared compared =
      compare("f32[3]", {1, 4}, ", channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}",
              "id=replica");
  REQUIRE(compared.result.verdict == Verdict::kRefuted);
  const prove::Counterexample& found = *compared.result.counterexample;
  // Device 0 still gets that of its source, 3; so does device 1.
  CHECK(found.device == 1);
  CHECK(found.paths[1] == "parameter 0 (%x)[0] of device 3 (replica 0, partition 3)");
}

TEST_CASE("lowering differences: pairs read as flattened ids leave their partition") {
  Compared compared =
      compare("f32[3]", {2, 2}, ", source_target_pairs={{0,1},{1,0}}", "id=flattened");
  REQUIRE(compared.result.verdict == Verdict::kRefuted);
  const prove::Counterexample& found = *compared.result.counterexample;
  CHECK(found.device == 0);
  CHECK(found.paths[0] == "parameter 0 (%x)[0] of device 2 (replica 1, partition 0)");
  CHECK(found.paths[1] == "parameter 0 (%x)[0] of device 1 (replica 0, partition 1)");
}

TEST_CASE("lowering differences: gathered along 1 and sliced along 0, all read device 0") {
  std::string_view ring = ", source_target_pairs={{0,1},{1,2},{2,0}}";
  Compared compared = compare("f32[2,3]", {3, 1}, ring, "axis=literal");
  REQUIRE(compared.result.verdict == Verdict::kRefuted);
  CHECK(compared.result.counterexample->paths[1].find("of device 0") != std::string::npos);
  // At rank 1 both are dimension 0.
  CHECK(compare("f32[3]", {3, 1}, ring, "axis=literal").result.verdict == Verdict::kProved);
}

TEST_CASE("lowering differences: duplicate targets mean nothing to compare") {
  std::string_view pairs = ", source_target_pairs={{0,1},{2,1}}";
  Compared compared = compare("f32[3]", {3, 1}, pairs, kPreset);
  CHECK(compared.result.verdict == Verdict::kInvalid);
  CHECK(compared.result.reason.find("target twice") != std::string::npos);
}

TEST_CASE("lowering differences: scalars have no dimension to gather and are left alone") {
  Compared compared = compare("f32[]", {3, 1}, ", source_target_pairs={{0,1}}", kPreset);
  CHECK(compared.has(Opcode::kCollectivePermute));
  CHECK(compared.result.verdict == Verdict::kProved);
}

TEST_CASE("lowering differences: offsets in s32 wrap, shown by demand; the defaults take 64 bits") {
  std::string_view ring = ", source_target_pairs={{0,1},{1,2},{2,3},{3,0}}";
  Compared compared = compare("f32[1073741824]", {4, 1}, ring, "preset=neuron-2.24 gate=always");
  REQUIRE(compared.result.verdict == Verdict::kRefuted);
  const prove::Counterexample& found = *compared.result.counterexample;
  CHECK(found.replay == "by demand");
  CHECK(found.device == 0);
  CHECK(found.paths[0].find("of device 3") != std::string::npos);
  CHECK(found.paths[1].find("of device 0") != std::string::npos);
  CHECK(compare("f32[1073741824]", {4, 1}, ring, "").result.verdict == Verdict::kProved);
}

}  // namespace
}  // namespace minihlo
