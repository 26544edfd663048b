#include "ir/semantics/groups.h"

#include <doctest/doctest.h>

#include <initializer_list>
#include <vector>

#include "ir/module.h"

namespace minihlo {
namespace {

using Lists = std::vector<std::vector<int64_t>>;

// Makes collectives of one module, without operands: groups do not look at them.
class Collectives {
 public:
  Instruction* make(Opcode opcode, std::initializer_list<Attribute> attributes) {
    return computation_->append(opcode, "c", module_.shapes().token(), {},
                                std::vector<Attribute>(attributes));
  }
  Attribute lists(const Lists& lists) {
    Arena& arena = module_.arena();
    std::span<std::span<const int64_t>> kept = arena.array<std::span<const int64_t>>(lists.size());
    for (size_t i = 0; i < lists.size(); ++i) kept[i] = arena.copy(lists[i]);
    DeviceGroups* groups = arena.make<DeviceGroups>();
    groups->lists = kept;
    return make_attribute(attr::replica_groups, groups);
  }
  Attribute iota(std::vector<int64_t> dims, std::vector<int64_t> reshape,
                 std::vector<int64_t> perm = {}) {
    Arena& arena = module_.arena();
    DeviceGroups* groups = arena.make<DeviceGroups>();
    groups->form = DeviceGroups::Form::kIota;
    groups->iota = arena.make<IotaOrder>(arena.copy(dims), arena.copy(reshape), arena.copy(perm));
    return make_attribute(attr::replica_groups, groups);
  }
  Attribute pairs(const std::vector<SourceTarget>& pairs) {
    return make_attribute(attr::source_target_pairs, module_.arena().copy(pairs));
  }
  Attribute send_recv_pairs(std::string_view text) {
    std::vector<NamedString> map = {{"_xla_send_recv_source_target_pairs", text, true}};
    return make_attribute(attr::frontend_attributes, module_.arena().copy(map));
  }

 private:
  Module module_{"m"};
  Computation* computation_ = module_.add_computation("c");
};

Lists all_groups(const CollectiveGroups& groups) {
  Lists result;
  for (int64_t i = 0; i < groups.size(); ++i) {
    result.emplace_back(groups.group(i).begin(), groups.group(i).end());
  }
  return result;
}

const Attribute kChannel = make_attribute(attr::channel_id, 1);
const Attribute kGlobal = make_attribute(attr::use_global_device_ids, true);
const Attribute kNotGlobal = make_attribute(attr::use_global_device_ids, false);

TEST_CASE("a mesh has bounded, positive counts") {
  CHECK(make_mesh(2, 3)->device_count() == 6);
  CHECK(make_mesh(2, 3)->flattened(1, 2) == 5);
  CHECK(make_mesh(2, 3)->replica(5) == 1);
  CHECK(make_mesh(2, 3)->partition(5) == 2);
  CHECK(make_mesh(1 << 10, 1 << 10).has_value());
  CHECK(make_mesh(0, 1).error() == "a mesh of 0 replicas and 1 partitions has no devices");
  CHECK(make_mesh(1 << 11, 1 << 10).error() ==
        "a mesh of 2048 replicas and 1024 partitions has more than 1048576 devices");
  CHECK_FALSE(make_mesh(INT64_MAX, INT64_MAX).has_value());
}

TEST_CASE("the mode follows from channel_id and use_global_device_ids") {
  Collectives c;
  auto mode = [&](Opcode opcode, std::initializer_list<Attribute> attributes) {
    return group_mode(*c.make(opcode, attributes));
  };
  for (Opcode opcode :
       {Opcode::kAllReduce, Opcode::kAllReduceStart, Opcode::kAllGather, Opcode::kAllGatherStart,
        Opcode::kReduceScatter, Opcode::kCollectiveReduce}) {
    CHECK(mode(opcode, {}) == GroupMode::kCrossReplica);
    CHECK(mode(opcode, {kNotGlobal}) == GroupMode::kCrossReplica);
    CHECK(mode(opcode, {kChannel}) == GroupMode::kCrossReplicaAndPartition);
    CHECK(mode(opcode, {kChannel, kGlobal}) == GroupMode::kFlattenedId);
    CHECK(mode(opcode, {kGlobal}).error() == "use_global_device_ids=true needs a channel_id");
  }
  for (Opcode opcode : {Opcode::kAllToAll, Opcode::kRaggedAllToAll, Opcode::kCollectiveBroadcast,
                        Opcode::kCollectivePermute, Opcode::kCollectivePermuteStart}) {
    CHECK(mode(opcode, {}) == GroupMode::kCrossReplica);
    CHECK(mode(opcode, {kChannel}) == GroupMode::kCrossPartition);
  }
  CHECK(mode(Opcode::kAdd, {}).error() == "add has no groups of devices");
}

TEST_CASE("groups in every mode") {
  Collectives c;
  const Mesh mesh{2, 3};
  auto groups = [&](Opcode opcode, std::initializer_list<Attribute> attributes) {
    auto result = collective_groups(*c.make(opcode, attributes), mesh);
    REQUIRE(result.has_value());
    return all_groups(*result);
  };
  CHECK(groups(Opcode::kAllReduce, {c.lists({{1, 0}})}) == Lists{{3, 0}, {4, 1}, {5, 2}});
  CHECK(groups(Opcode::kAllReduce, {}) == Lists{{0, 3}, {1, 4}, {2, 5}});
  CHECK(groups(Opcode::kAllToAll, {kChannel, c.lists({{2, 0}, {1}})}) ==
        Lists{{2, 0}, {1}, {5, 3}, {4}});
  CHECK(groups(Opcode::kAllToAll, {kChannel, c.lists({})}) == Lists{{0, 1, 2}, {3, 4, 5}});
  CHECK(groups(Opcode::kAllGather, {kChannel, c.lists({{1, 0}})}) == Lists{{3, 4, 5, 0, 1, 2}});
  CHECK(groups(Opcode::kAllGather, {kChannel, c.lists({{1}, {0}})}) == Lists{{3, 4, 5}, {0, 1, 2}});
  CHECK(groups(Opcode::kAllGather, {kChannel}) == Lists{{0, 1, 2, 3, 4, 5}});
  CHECK(groups(Opcode::kReduceScatter, {kChannel, kGlobal, c.lists({{5, 0, 4}, {1, 2, 3}})}) ==
        Lists{{5, 0, 4}, {1, 2, 3}});
  CHECK(groups(Opcode::kReduceScatter, {kChannel, kGlobal, c.iota({3, 2}, {2, 3}, {1, 0})}) ==
        Lists{{0, 3}, {1, 4}, {2, 5}});
}

TEST_CASE("ranks, and devices in no group") {
  Collectives c;
  auto groups =
      collective_groups(*c.make(Opcode::kCollectiveBroadcast, {c.lists({{3, 1}})}), Mesh{4, 1});
  REQUIRE(groups.has_value());
  CHECK(groups->group_of == std::vector<int64_t>{-1, 0, -1, 0});
  CHECK(groups->rank_of == std::vector<int64_t>{-1, 1, -1, 0});
  CHECK(groups->is_uniform());
  CHECK_FALSE(groups->covers_mesh());
  groups = collective_groups(*c.make(Opcode::kAllReduce, {c.lists({{3, 1, 0}, {2}})}), Mesh{4, 1});
  CHECK_FALSE(groups->is_uniform());
  CHECK(groups->covers_mesh());
}

TEST_CASE("groups that do not fit the mesh") {
  Collectives c;
  auto error = [&](std::initializer_list<Attribute> attributes) {
    auto result = collective_groups(*c.make(Opcode::kAllReduce, attributes), Mesh{2, 2});
    REQUIRE_FALSE(result.has_value());
    return result.error();
  };
  CHECK(error({c.lists({{0, 2}})}) ==
        "replica_groups names replica 2, beyond the mesh of 2 replicas and 2 partitions "
        "(--replicas and --partitions give another)");
  CHECK(error({c.lists({{0, -1}})}) ==
        "replica_groups names replica -1, beyond the mesh of 2 replicas and 2 partitions "
        "(--replicas and --partitions give another)");
  CHECK(error({c.lists({{0}, {0}})}) == "replica_groups lists replica 0 twice");
  CHECK(error({c.lists({{0}, {}})}) == "group 1 of replica_groups is empty");
  CHECK(error({c.lists({}), kChannel, kGlobal}) ==
        "use_global_device_ids=true needs replica_groups");
  CHECK(error({c.iota({1 << 12, 1 << 12}, {1 << 24})}) ==
        "replica_groups lists 16777216 ids, but the mesh of 2 replicas and 2 partitions has 2 "
        "replicas");
  CHECK(error({c.iota({2, 3}, {4})}) ==
        "replica_groups: its sizes do not multiply to those behind <=");
}

TEST_CASE("permutes") {
  Collectives c;
  auto permute = [&](std::initializer_list<Attribute> attributes, Mesh mesh) {
    return permute_sources(*c.make(Opcode::kCollectivePermute, attributes), mesh);
  };
  auto map = permute({c.pairs({{0, 1}, {1, 2}})}, Mesh{3, 2});
  CHECK(map->source_of == std::vector<int64_t>{-1, -1, 0, 1, 2, 3});
  CHECK(map->target_of == std::vector<int64_t>{2, 3, 4, 5, -1, -1});
  CHECK(permute({kChannel, c.pairs({{1, 0}, {0, 0}})}, Mesh{2, 2}).error() ==
        "source_target_pairs has partition 0 as target twice");
  CHECK(permute({kChannel, c.pairs({{1, 0}, {1, 1}})}, Mesh{2, 2}).error() ==
        "source_target_pairs has partition 1 as source twice");
  CHECK(permute({kChannel, c.pairs({{1, 1}})}, Mesh{2, 2})->source_of ==
        std::vector<int64_t>{-1, 1, -1, 3});
  CHECK(permute({c.pairs({{2, 1}})}, Mesh{2, 4}).error() ==
        "source_target_pairs names replica 2, beyond the mesh of 2 replicas and 4 partitions "
        "(--replicas and --partitions give another)");
  CHECK(permute({c.pairs({})}, Mesh{2, 1})->source_of == std::vector<int64_t>{-1, -1});
}

TEST_CASE("the pairs of send and recv are a frontend attribute") {
  Collectives c;
  auto send = [&](std::initializer_list<Attribute> attributes) {
    return permute_sources(*c.make(Opcode::kSend, attributes), Mesh{1, 3});
  };
  CHECK(send({kChannel, c.send_recv_pairs("{{0,1}, {1,2}}")})->source_of ==
        std::vector<int64_t>{-1, 0, 1});
  CHECK(send({kChannel, c.send_recv_pairs("{}")})->source_of == std::vector<int64_t>{-1, -1, -1});
  for (const char* bad :
       {"", "{", "{{0,1}", "{{0}}", "{{0,1},}", "{{0,1}} x", "{{0,99999999999999999999}}"}) {
    CHECK_FALSE(send({kChannel, c.send_recv_pairs(bad)}).has_value());
  }
  CHECK(send({kChannel}).error() == "send has no source and target pairs");
}

}  // namespace
}  // namespace minihlo
