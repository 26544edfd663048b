// What collective-permute-to-all-gather emits and keeps. What it leaves alone is tested in
// permute_to_gather_reasons_test.cc, what its output computes in permute_to_gather_values_test.cc.
#include <doctest/doctest.h>

#include "ir/semantics/groups.h"
#include "ir/text/printer.h"
#include "tests/passes/permute_text.h"

namespace minihlo {
namespace {

using testing::kPair;
using testing::module_text;
using testing::pass;
using testing::PassRun;
using testing::reason;
using testing::run_passes;
using testing::verifier_errors;

// Two partitions swap.
const std::string kSwap = module_text(", num_partitions=2", "f32[4]",
                                      ", channel_id=1, source_target_pairs={{0,1},{1,0}}");

std::vector<int64_t> ints(const Instruction* constant) {
  const Literal* literal = constant->get(attr::literal_value);
  std::vector<int64_t> values;
  for (int64_t i = 0; i < literal->shape->element_count(); ++i) {
    int64_t value = 0;
    std::span<const std::byte> bytes = literal->element_bytes(i);
    std::memcpy(&value, bytes.data(), bytes.size());
    if (bytes.size() == 4) value = static_cast<int32_t>(value);
    values.push_back(value);
  }
  return values;
}

std::string opcodes(const PassRun& run) {
  std::string list;
  for (const Instruction* one : run.module->entry()->instructions()) {
    list += (list.empty() ? "" : " ") + std::string(to_string(one->opcode()));
  }
  return list;
}

std::string groups_text(const Instruction* gather) {
  std::string text;
  for (auto group : gather->get(attr::replica_groups)->lists) {
    text += fmt::format("{{{}}}", fmt::join(group, ","));
  }
  return text;
}

TEST_CASE("permute to gather: the chain, opcode by opcode") {
  CHECK(opcodes(run_passes(pass(), kSwap)) ==
        "parameter all-gather constant partition-id dynamic-slice reshape constant multiply "
        "dynamic-slice");
  std::string cube =
      module_text(", replica_count=2", "f32[2,3,4]", ", source_target_pairs={{0,1},{1,0}}");
  CHECK(opcodes(run_passes(pass(), cube)) ==
        "parameter all-gather constant replica-id dynamic-slice reshape constant multiply "
        "constant constant dynamic-slice");
}

TEST_CASE("permute to gather: where nothing is received zeros are selected behind the chain") {
  std::string half =
      module_text(", num_partitions=2", "f32[4]", ", channel_id=1, source_target_pairs={{0,1}}");
  PassRun run = run_passes(pass(), half);
  CHECK(opcodes(run) ==
        "parameter all-gather constant partition-id dynamic-slice reshape constant multiply "
        "dynamic-slice constant dynamic-slice reshape broadcast constant broadcast select");
  CHECK(opcodes(run_passes(pass("fill=identity"), half)).find("select") == std::string::npos);
}

TEST_CASE("permute to gather: a scalar is reshaped to one element and back") {
  std::string scalar =
      module_text(", replica_count=2", "pred[]", ", source_target_pairs={{0,1},{1,0}}");
  CHECK(opcodes(run_passes(pass(), scalar)) ==
        "parameter reshape all-gather constant replica-id dynamic-slice reshape constant multiply "
        "dynamic-slice reshape");
}

TEST_CASE("permute to gather: groups, channel and index by mode and option") {
  struct Row {
    std::string_view header, permute, options, groups;
    bool channel;
    std::string_view ids;
  };
  const std::string_view both = ", replica_count=2, num_partitions=3";
  const std::string_view replicas = ", source_target_pairs={{0,1},{1,0}}";
  const std::string_view partitions = ", channel_id=1, source_target_pairs={{0,1},{1,0},{2,2}}";
  const Row rows[] = {
      {both, replicas, "", "{0,1}", false, "replica-id"},
      {both, partitions, "", "{0,1,2}{3,4,5}", true, "partition-id"},
      {both, replicas, "id=replica", "{0,1,2,3,4,5}", true, "replica-id"},
      {both, partitions, "id=replica", "{0,1,2,3,4,5}", true, "replica-id"},
      {both, replicas, "id=flattened", "{0,1,2,3,4,5}", true,
       "replica-id multiply partition-id add"},
      {both, partitions, "groups=orbits", "{0,1,2}{3,4,5}", true, "partition-id"},
      {", replica_count=3, num_partitions=4",
       ", channel_id=1, source_target_pairs={{0,3},{3,0},{1,2}}", "groups=orbits",
       "{0,3}{1,2}{4,7}{5,6}{8,11}{9,10}", true, "partition-id"},
      {", replica_count=4", ", source_target_pairs={{0,3},{3,0},{1,2}}", "groups=orbits",
       "{0,3}{1,2}", false, "replica-id"},
      {", num_partitions=3", partitions, "id=flattened", "{0,1,2}", true, "partition-id"},
      {", replica_count=2", replicas, "id=flattened", "{0,1}", true, "replica-id"},
      {", num_partitions=3", partitions, "preset=neuron-2.24", "{0,1,2}", true, "replica-id"},
  };
  for (const Row& row : rows) {
    std::string text = module_text(row.header, "f32[4]", row.permute);
    CAPTURE(text);
    PassRun run = run_passes(pass(row.options), text);
    CHECK(reason(run) == "");
    const Instruction* gather = run.all(Opcode::kAllGather).at(0);
    CHECK(groups_text(gather) == row.groups);
    CHECK(gather->has(attr::channel_id) == row.channel);
    CHECK(gather->get(attr::use_global_device_ids) == row.channel);
    CHECK(gather->get(attr::constrain_layout));
    std::string ids;
    for (const Instruction* one : run.module->entry()->instructions()) {
      if (one->name() == "dynamic-slice") break;
      Opcode opcode = one->opcode();
      if (opcode == Opcode::kReplicaId || opcode == Opcode::kPartitionId ||
          opcode == Opcode::kMultiply || opcode == Opcode::kAdd) {
        ids += (ids.empty() ? "" : " ") + std::string(to_string(opcode));
      }
    }
    CHECK(ids == row.ids);
  }
}

TEST_CASE("permute to gather: the table says for every target its source") {
  auto table = [](std::string_view header, std::string_view permute, std::string_view options) {
    PassRun run = run_passes(pass(options), module_text(header, "f32[4]", permute), false);
    CHECK(reason(run) == "");
    return ints(run.find("constant"));
  };
  using Ints = std::vector<int64_t>;
  const std::string_view four = ", num_partitions=4";
  const std::string_view ring = ", channel_id=1, source_target_pairs={{0,1},{1,2},{2,3},{3,0}}";
  CHECK(table(four, ring, "") == Ints{3, 0, 1, 2});
  const std::string_view line = ", channel_id=1, source_target_pairs={{1,2},{2,3}}";
  CHECK(table(four, line, "") == Ints{0, 0, 1, 2});
  CHECK(table(four, line, "fill=identity") == Ints{0, 1, 1, 2});
  CHECK(table(four, ", channel_id=1, source_target_pairs={}", "fill=identity") == Ints{0, 1, 2, 3});
  // The place of the source in its group.
  const std::string_view swap = ", channel_id=1, source_target_pairs={{1,3},{3,1}}";
  CHECK(table(four, swap, "groups=orbits fill=identity") == Ints{0, 1, 1, 0});
  // In the preset the last of several pairs counts.
  CHECK(table(four, ", channel_id=1, source_target_pairs={{0,1},{2,1}}", "preset=neuron-2.24") ==
        Ints{0, 2, 2, 3});
  // R*P entries where the pairs are read as flattened ids.
  CHECK(table(", replica_count=2, num_partitions=2",
              ", channel_id=1, source_target_pairs={{0,1},{1,0}}",
              "id=replica fill=identity") == Ints{1, 0, 2, 3});
}

TEST_CASE("permute to gather: the axis is gathered and sliced, literally 1 and 0") {
  struct Row {
    std::string_view shape, options;
    int64_t gathered;
    std::string_view gathered_shape;
    int64_t sliced, extent;
  };
  const Row rows[] = {
      {"f32[5]", "", 0, "f32[10]{0}", 0, 5},
      {"f32[5,7]", "", 0, "f32[10,7]{1,0}", 0, 5},
      {"f32[5,7]", "axis=1", 1, "f32[5,14]{1,0}", 1, 7},
      {"f32[5,7]", "axis=literal", 1, "f32[5,14]{1,0}", 0, 5},
      {"f32[5]", "axis=literal", 0, "f32[10]{0}", 0, 5},
      {"f32[2,3,4]", "axis=2", 2, "f32[2,3,8]{2,1,0}", 2, 4},
      {"f32[5,7]{0,1}", "", 0, "f32[10,7]{0,1}", 0, 5},
      {"f32[5,7]", "preset=neuron-2.24", 1, "f32[5,14]{1,0}", 0, 5},
      {"f32[5,7]", "preset=neuron-2.24 axis=0", 0, "f32[10,7]{1,0}", 0, 5},
  };
  for (const Row& row : rows) {
    CAPTURE(std::string(row.options));
    PassRun run = run_passes(pass(row.options),
                             module_text(", num_partitions=2", row.shape,
                                         ", channel_id=1, source_target_pairs={{0,1},{1,0}}"));
    CHECK(reason(run) == "");
    const Instruction* gather = run.find("all-gather");
    CHECK(gather->get(attr::dimensions)[0] == row.gathered);
    CHECK(to_string(gather->shape()) == row.gathered_shape);
    const Instruction* root = run.module->entry()->root();
    CHECK(root->shape() == run.find("x")->shape());
    CHECK(root->operand(static_cast<size_t>(1 + row.sliced))->opcode() == Opcode::kMultiply);
    CHECK(ints(run.find("constant.1")) == std::vector<int64_t>{row.extent});
  }
}

TEST_CASE("permute to gather: 64-bit tables where 32 would wrap, but for the preset") {
  auto type = [](std::string_view shape, std::string_view options, size_t partitions = 2) {
    PassRun run =
        run_passes(pass(options), module_text(fmt::format(", num_partitions={}", partitions), shape,
                                              ", channel_id=1, source_target_pairs={{0,1},{1,0}}"));
    CHECK(reason(run) == "");
    for (const Instruction* slice : run.all(Opcode::kDynamicSlice)) {
      for (size_t i = 2; i < slice->operand_count(); ++i) {
        CHECK(slice->operand(i)->shape() == slice->operand(1)->shape());
      }
    }
    CHECK(run.find("constant")->shape()->element_type() ==
          run.find("constant.1")->shape()->element_type());
    return run.find("constant")->shape()->element_type();
  };
  CHECK(type("u8[2147483647]", "") == ElementType::S32);
  CHECK(type("u8[2147483648]", "") == ElementType::S64);
  CHECK(type("u8[2147483648,2]", "axis=1") == ElementType::S32);
  CHECK(type("u8[2147483648]", "preset=neuron-2.24") == ElementType::S32);
  CHECK(type("u8[1073741824]", "fill=identity", 2) == ElementType::S32);
  // The third device reads from 2^31.
  CHECK(type("u8[1073741824,2]", "fill=identity", 3) == ElementType::S64);
}

TEST_CASE("permute to gather: metadata, sharding and frontend attributes go to the result") {
  std::string text =
      module_text(", num_partitions=2", "f32[4]",
                  ", channel_id=1, source_target_pairs={{0,1}}, sharding={replicated}, "
                  "frontend_attributes={a=\"b\"}, metadata={op_name=\"shift\" source_line=3}, "
                  "backend_config={\"permute\":1}");
  for (std::string_view options : {"", "fill=identity", "preset=neuron-2.24"}) {
    PassRun run = run_passes(pass(options), text);
    std::string root = print_text(*run.module->entry()->root());
    CHECK(root.find("sharding={replicated}, frontend_attributes={a=\"b\"}, "
                    "metadata={op_name=\"shift\" source_line=3}") != std::string::npos);
    CHECK(run.text().find("backend_config") == std::string::npos);
    size_t first = run.text().find("op_name");
    CHECK(run.text().find("op_name", first + 1) == std::string::npos);
  }
}

TEST_CASE("permute to gather: order is kept on both sides") {
  PassRun run = run_passes(pass(), R"(HloModule m, num_partitions=2

ENTRY e {
  x = f32[4] parameter(0)
  s = f32[] parameter(1)
  a = f32[4] negate(x)
  p = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1}}, control-predecessors={a}
  q = f32[] collective-permute(s), channel_id=1, source_target_pairs={{1,0}}, control-predecessors={p,a}
  ROOT z = (f32[4], f32[]) tuple(a, s), control-predecessors={q}
}
)");
  auto before = [](const Instruction* one) {
    std::string names;
    for (const Instruction* other : one->get(attr::control_predecessors)) {
      names += std::string(other->name()) + " ";
    }
    return names;
  };
  CHECK(before(run.find("all-gather")) == "a ");
  CHECK(before(run.all(Opcode::kAllGather).at(1)->operand(0)) == "select a ");
  CHECK(run.all(Opcode::kAllGather).at(1)->operand(0)->opcode() == Opcode::kReshape);
  CHECK(before(run.find("z")) == std::string(run.entries[1].result) + " ");
}

TEST_CASE("permute to gather: names are unique and channels fresh, in every computation") {
  PassRun run = run_passes(pass(), R"(HloModule m, num_partitions=2

body {
  b = (s32[], f32[4]) parameter(0)
  i = s32[] get-tuple-element(b), index=0
  one = s32[] constant(1)
  n = s32[] add(i, one)
  v = f32[4] get-tuple-element(b), index=1
  all-gather = f32[4] collective-permute(v), channel_id=7, source_target_pairs={{0,1},{1,0}}
  constant.1 = f32[4] collective-permute(all-gather), channel_id=7, source_target_pairs={{1,0}}
  ROOT t = (s32[], f32[4]) tuple(n, constant.1)
}

condition {
  c = (s32[], f32[4]) parameter(0)
  j = s32[] get-tuple-element(c), index=0
  three = s32[] constant(3)
  ROOT l = pred[] compare(j, three), direction=LT
}

branch.a {
  ba = f32[4] parameter(0)
  ROOT pa = f32[4] collective-permute(ba), channel_id=2, source_target_pairs={{0,1},{1,0}}
}

branch.b {
  bb = f32[4] parameter(0)
  ROOT pb = f32[4] negate(bb)
}

ENTRY e {
  x = f32[4] parameter(0)
  zero = s32[] constant(0)
  t0 = (s32[], f32[4]) tuple(zero, x)
  w = (s32[], f32[4]) while(t0), condition=condition, body=body
  g = f32[4] get-tuple-element(w), index=1
  yes = pred[] constant(true)
  ROOT r = f32[4] conditional(yes, g, g), true_computation=branch.a, false_computation=branch.b
}
)");
  REQUIRE(run.entries.size() == 3);
  for (const PassEntry& entry : run.entries) CHECK(entry.rewritten);
  CHECK(run.entries[0].computation == "body");
  CHECK(run.entries[1].computation == "body");
  CHECK(run.entries[2].computation == "branch.a");
  CHECK(run.all(Opcode::kCollectivePermute).empty());
  std::vector<int64_t> channels;
  for (const Instruction* gather : run.all(Opcode::kAllGather)) {
    channels.push_back(gather->get(attr::channel_id));
  }
  CHECK(channels == std::vector<int64_t>{8, 9, 10});
  std::vector<std::string> names;
  for (const Computation* computation : run.module->computations()) {
    for (const Instruction* one : computation->instructions()) names.emplace_back(one->name());
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("permute to gather: permutes of one module have groups of their own") {
  PassRun run = run_passes(pass("groups=orbits"), R"(HloModule m, replica_count=2, num_partitions=4

ENTRY e {
  x = f32[4] parameter(0)
  a = f32[4] collective-permute(x), channel_id=1, source_target_pairs={{0,1},{1,0},{2,3},{3,2}}
  b = f32[4] collective-permute(a), channel_id=1, source_target_pairs={{0,1},{1,0},{2,3}}
  c = f32[4] collective-permute(b), channel_id=1, source_target_pairs={{0,2},{2,0},{1,3}}
  ROOT d = f32[4] collective-permute(c), source_target_pairs={{0,1},{1,0}}
}
)");
  std::string groups;
  for (const Instruction* gather : run.all(Opcode::kAllGather)) {
    groups += groups_text(gather) + " ";
  }
  CHECK(groups == "{0,1}{2,3}{4,5}{6,7} {0,1}{2,3}{4,5}{6,7} {0,2}{1,3}{4,6}{5,7} {0,1} ");
}

TEST_CASE("permute to gather: several operands give a tuple, and share their look-ups") {
  PassRun run = run_passes(pass(), R"(HloModule m, num_partitions=2

ENTRY e {
  x = f32[4] parameter(0)
  s = s8[] parameter(1)
  z = f32[0] parameter(2)
  p = (f32[4], s8[], f32[0]) collective-permute(x, s, z), channel_id=1, source_target_pairs={{0,1}}, metadata={op_name="all"}
  a = f32[4] get-tuple-element(p), index=0
  b = s8[] get-tuple-element(p), index=1
  ROOT r = (f32[4], s8[], (f32[4], s8[], f32[0])) tuple(a, b, p)
}
)");
  CHECK(reason(run) == "");
  const Instruction* tuple = run.find("tuple");
  CHECK(run.find("a")->operand(0) == tuple);
  CHECK(tuple->operand(0)->opcode() == Opcode::kSelect);
  CHECK(tuple->operand(1)->opcode() == Opcode::kReshape);
  CHECK(tuple->operand(2)->opcode() == Opcode::kSelect);
  CHECK(run.all(Opcode::kAllGather).size() == 3);
  CHECK(run.all(Opcode::kPartitionId).size() == 1);
  CHECK(run.entries[0].result == "tuple");
  CHECK(tuple->has(attr::metadata));
  CHECK(tuple->operand(1)->has(attr::metadata));
  CHECK(run.all(Opcode::kAllGather)[0]->get(attr::channel_id) == 2);
  CHECK(run.all(Opcode::kAllGather)[1]->get(attr::channel_id) == 3);
}

TEST_CASE("permute to gather: a start and its done stay asynchronous") {
  PassRun run = run_passes(pass(), kPair);
  CHECK(reason(run) == "");
  CHECK(opcodes(run) ==
        "parameter negate all-gather-start cosine all-gather-done constant partition-id "
        "dynamic-slice reshape constant multiply dynamic-slice add");
  const Instruction* start = run.find("all-gather-start");
  CHECK(to_string(start->shape()) == "(f32[4]{0}, f32[8]{0})");
  CHECK(start->get(attr::control_predecessors)[0] == run.find("a"));
  CHECK(start->has(attr::metadata));
  CHECK(run.find("c")->get(attr::control_predecessors)[0] == start);
  CHECK(run.find("all-gather-done")->get(attr::control_predecessors)[0] == run.find("c"));
  const Instruction* result = run.find("r")->operand(1);
  CHECK(result->get(attr::metadata).size() == 1);
  CHECK(attribute_value<std::string_view>(result->get(attr::metadata)[0]) == "done");
  CHECK(run.entries[0].instruction == "s");
  CHECK(run.entries[0].opcode == Opcode::kCollectivePermuteStart);
  CHECK(run.entries[0].result == result->name());
}

TEST_CASE("permute to gather: a pair of several operands waits for all its starts") {
  PassRun run = run_passes(pass(), R"(HloModule m, num_partitions=2

ENTRY e {
  x = f32[4] parameter(0)
  y = f32[] parameter(1)
  s = ((f32[4], f32[]), (f32[4], f32[])) collective-permute-start(x, y), channel_id=1, source_target_pairs={{0,1},{1,0}}
  c = f32[4] cosine(x), control-predecessors={s}
  ROOT d = (f32[4], f32[]) collective-permute-done(s)
}
)",
                           false);
  CHECK(reason(run) == "");
  CHECK(run.find("c")->get(attr::control_predecessors).size() == 2);
  CHECK(run.all(Opcode::kAllGatherStart).size() == 2);
  CHECK(run.module->entry()->root()->opcode() == Opcode::kTuple);
  CHECK(verifier_errors(*run.module) == "");
}

TEST_CASE("permute to gather: the log has the texts of the original") {
  std::string text =
      module_text(", num_partitions=3", "f32[4]", ", channel_id=1, source_target_pairs={{0,1}}");
  PassRun run = run_passes(pass("preset=neuron-2.24"), text);
  CHECK(run.log == std::vector<std::string>{
                       "Platform Version: 2.0. Defaulting to 32 cores",
                       "core count 32",
                       "override_core_count 0",
                       "Initial replica_count from config = 1",
                       "Initial num_partitions from config = 3",
                       "Found collective-permute: %p",
                       "Created mapping array constant: %constant with values: ",
                       "  mapping_array[0] = 0",
                       "  mapping_array[1] = 0",
                       "  mapping_array[2] = 2",
                       "collective-permute-to-all-gather: %p in e: rewritten to %dynamic-slice.1",
                   });
  auto head = [&](std::string_view options) {
    PassRun other = run_passes(pass(options), text);
    return fmt::format("{}|{}|{}", other.log[0], other.log[1], other.log[2]);
  };
  CHECK(head("platform_version=3.0") ==
        "Platform Version: 3.0|core count 128|override_core_count 0");
  CHECK(head("platform_version=3.0 nc_divisor=2") ==
        "Platform Version: 3.0|core count 64|override_core_count 0");
  CHECK(head("platform_version=3.0 nc_divisor=2 override_core_count=5") ==
        "Platform Version: 3.0|core count 5|override_core_count 5");
  CHECK(head("platform_version=9 override_core_count=5") ==
        "Platform Version: 9. Defaulting to 32 cores|core count 32|override_core_count 5");
}

TEST_CASE("permute to gather: the same input gives the same text") {
  CHECK(run_passes(pass(), kPair).text() == run_passes(pass(), kPair).text());
  CHECK(run_passes(pass("groups=orbits"), kSwap).text() ==
        run_passes(pass("groups=orbits"), kSwap).text());
}

TEST_CASE("permute to gather: what is printed parses to the same, for every element type") {
  for (int i = 0; i < kElementTypeCount; ++i) {
    std::string shape = fmt::format("{}[3]", to_string(static_cast<ElementType>(i)));
    CAPTURE(shape);
    PassRun run = run_passes(pass(), module_text(", num_partitions=2", shape,
                                                 ", channel_id=1, source_target_pairs={{0,1}}"));
    CHECK(reason(run) == "");
    CHECK(print_text(*testing::parse_module(run.text())) == run.text());
    const Literal* zero =
        run.module->entry()->root()->operand(2)->operand(0)->get(attr::literal_value);
    for (std::byte byte : zero->bytes) CHECK(byte == std::byte{0});
  }
}

}  // namespace
}  // namespace minihlo
