#include <doctest/doctest.h>

#include "tests/ir/verify/findings.h"

namespace minihlo {
namespace {

TEST_CASE("verifier, collectives: groups that are right, in all three forms") {
  CHECK(findings_of_body(R"(
    a = f32[16] all-gather(p), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true
    b = f32[8] all-gather(p), channel_id=1, replica_groups=[2,2]<=[4], dimensions={0}, use_global_device_ids=true
    c = f32[8] all-gather(p), channel_id=1, replica_groups=mesh['a'=2,'b'=2] {'a'}, dimensions={0}, use_global_device_ids=true
    d = f32[16] all-gather(p), channel_id=1, replica_groups={}, dimensions={0}
    e = f32[4] all-to-all(p), channel_id=2, replica_groups={{2,0,1,3}}, dimensions={0}
    f = f32[4] all-reduce(p), channel_id=2, replica_groups={{0,1,3},{2}}, use_global_device_ids=true, to_apply=add
    g = f32[1] reduce-scatter(p), channel_id=2, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add, dimensions={0}
    h = f32[4] collective-broadcast(p), channel_id=2, replica_groups={{3,1}}
    i = f32[4] collective-permute(p), channel_id=2, source_target_pairs={{0,0},{3,1}}
)",
                         {1, 4}) == Findings{});
}

TEST_CASE("verifier, collectives: groups of all-gather differ in size") {
  CHECK(findings_of_body(R"(
    a = f32[8] all-gather(p), channel_id=1, replica_groups={{0,1},{2}}, dimensions={0}, use_global_device_ids=true
)",
                         {1, 3}) ==
        Findings{"error replica-groups: group 1 of replica_groups has 1 member, group 0 has 2: "
                 "those of all-gather must be of one size [a]"});
}

TEST_CASE("verifier, collectives: an id twice") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), channel_id=1, replica_groups={{0,1},{1,2}}, use_global_device_ids=true, to_apply=add
)",
                         {1, 4}) ==
        Findings{"error replica-groups: replica_groups lists device 1 twice [a]"});
}

TEST_CASE("verifier, collectives: ids with a gap") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), channel_id=1, replica_groups={{0,1},{2,4}}, use_global_device_ids=true, to_apply=add
)",
                         {1, 4}) == Findings{"error replica-groups: replica_groups lists 4 ids, so "
                                             "they must be 0 to 3, but 4 is among them [a]"});
}

TEST_CASE("verifier, collectives: a negative id") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), channel_id=1, replica_groups={{0,-1}}, use_global_device_ids=true, to_apply=add
)",
                         {1, 4}) == Findings{"error replica-groups: replica_groups lists 2 ids, so "
                                             "they must be 0 to 1, but -1 is among them [a]"});
}

TEST_CASE("verifier, collectives: an empty group") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), channel_id=1, replica_groups={{0,1,2,3},{}}, use_global_device_ids=true, to_apply=add
)",
                         {1, 4}) ==
        Findings{"error replica-groups: group 1 of replica_groups is empty [a]"});
}

TEST_CASE("verifier, collectives: not all devices") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add
)",
                         {1, 4}) ==
        Findings{"error replica-groups: replica_groups lists 2 devices, but the mesh of 1 replica "
                 "and 4 partitions has 4 [a]"});
}

TEST_CASE("verifier, collectives: more than all devices") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), replica_groups=[1,4]<=[4], to_apply=add
)",
                         {2, 2}) ==
        Findings{"error replica-groups: replica_groups lists 4 replicas, but the mesh of 2 "
                 "replicas and 2 partitions has 2 [a]"});
}

TEST_CASE("verifier, collectives: flattened ids need a list") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), channel_id=1, replica_groups={}, use_global_device_ids=true, to_apply=add
)",
                         {2, 2}) == Findings{"error replica-groups: use_global_device_ids=true "
                                             "needs replica_groups that list devices [a]"});
}

TEST_CASE("verifier, collectives: flattened ids need a channel") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
)",
                         {2, 2}) ==
        Findings{"error group-mode: use_global_device_ids=true needs a channel_id [a]"});
}

TEST_CASE("verifier, collectives: a mesh that is not known warns once a mode") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), replica_groups={{0,1}}, to_apply=add
    b = f32[4] all-reduce(p), replica_groups={{0,1,2}}, to_apply=add
    c = f32[4] all-reduce(p), channel_id=1, replica_groups={{0,1,2}}, use_global_device_ids=true, to_apply=add
    d = f32[4] collective-permute(p), channel_id=1, source_target_pairs={{0,1}}
    e = f32[4] all-reduce(p), channel_id=1, replica_groups={{0}}, use_global_device_ids=true, to_apply=add
)") == Findings{"warning unknown-mesh: replica_groups names replica 1, but the module gives 1 as "
                "their count or none: --replicas gives the mesh [a]",
                "warning unknown-mesh: replica_groups names device 2, but the module gives 1 as "
                "their count or none: --replicas and --partitions give the mesh [c]",
                "warning unknown-mesh: source_target_pairs names partition 1, but the module gives "
                "1 as their count or none: --partitions gives the mesh [d]"});
}

TEST_CASE("verifier, collectives: a broadcast beyond the mesh, and one device in two groups") {
  CHECK(findings_of_body(R"(
    a = f32[4] collective-broadcast(p), channel_id=1, replica_groups={{0,7}}
    b = f32[4] collective-broadcast(p), channel_id=1, replica_groups={{0,1},{1,2}}
)",
                         {1, 4}) ==
        Findings{"error replica-groups: replica_groups names partition 7, beyond the mesh of 1 "
                 "replica and 4 partitions [a]",
                 "error replica-groups: replica_groups lists partition 1 twice [b]"});
}

TEST_CASE("verifier, collectives: pairs") {
  CHECK(findings_of_body(R"(
    a = f32[4] collective-permute(p), channel_id=1, source_target_pairs={{0,1},{0,2},{3,1}}
    b = f32[4] collective-permute(p), channel_id=1, source_target_pairs={{4,1},{0,-1}}
    c = f32[4] collective-permute(p), source_target_pairs={{0,1}}
)",
                         {1, 4}) ==
        Findings{"error source-target-pairs: partition 0 is a source more than once [a]",
                 "error source-target-pairs: partition 1 is a target more than once [a]",
                 "error source-target-pairs: source_target_pairs names partition 4, beyond the "
                 "mesh of 1 replica and 4 partitions [b]",
                 "error source-target-pairs: source_target_pairs names partition -1, beyond the "
                 "mesh of 1 replica and 4 partitions [b]",
                 "warning unknown-mesh: source_target_pairs names replica 1, but the module gives "
                 "1 as their count or none: --replicas gives the mesh [c]"});
}

TEST_CASE("verifier, collectives: a permute in place may name a device once a slice") {
  CHECK(findings_of_body(R"(
    o = ((s32[]), (s32[])) custom-call(), custom_call_target="o"
    a = f32[4] collective-permute(p, p, o, o), channel_id=1, source_target_pairs={{0,1},{0,1}}, slice_sizes={{1},{1}}
    b = f32[4] collective-permute(p, p, o, o), channel_id=1, source_target_pairs={{0,1},{0,1},{0,2}}, slice_sizes={{1},{1}}
)",
                         {1, 4}) ==
        Findings{"error source-target-pairs: partition 0 is a source more than 2 times [b]"});
}

TEST_CASE("verifier, collectives: sizes that groups do not give") {
  CHECK(findings_of_body(R"(
    a = f32[8] all-gather(p), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true
    b = f32[2] reduce-scatter(p), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true, to_apply=add
    c = f32[6] custom-call(), custom_call_target="c"
    d = f32[6] all-to-all(c), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}
    e = (f32[4], f32[4]) all-to-all(p, p), channel_id=1, replica_groups={{0,1,2,3}}
    f = (f32[4], f32[8]) all-gather-start(p), channel_id=1, replica_groups={{0,1,2,3}}, dimensions={0}, use_global_device_ids=true
    g = f32[8] all-gather-done(f)
)",
                         {1, 4}) ==
        Findings{"error group-size: dimension 0 goes from 4 to 8, but a group has 4 members [a]",
                 "error group-size: dimension 0 goes from 4 to 2, but a group has 4 members [b]",
                 "error group-size: dimension 0 of %c has a size of 6, which the 4 members of a "
                 "group can't share [d]",
                 "error group-size: all-to-all without dimensions takes an operand for each of the "
                 "4 members of a group, not 2 [e]",
                 "error group-size: dimension 0 goes from 4 to 8, but a group has 4 members [f]"});
}

TEST_CASE("verifier, collectives: with groups of replicas, all their partitions take part") {
  CHECK(findings_of_body(R"(
    a = f32[16] all-gather(p), channel_id=1, replica_groups={{0,1}}, dimensions={0}
    b = f32[8] all-gather(p), channel_id=1, replica_groups={{0,1}}, dimensions={0}
)",
                         {2, 2}) ==
        Findings{"error group-size: dimension 0 goes from 4 to 8, but a group has 4 members [b]"});
}

TEST_CASE("verifier, collectives: channels and layouts of all-reduces") {
  CHECK(findings_of_body(R"(
    a = f32[4] all-reduce(p), channel_id=0, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add
    b = f32[4] all-reduce(p), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, constrain_layout=true, to_apply=add
    c = f32[4] all-reduce(p), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, constrain_layout=true, to_apply=add
)",
                         {1, 2}) ==
        Findings{"error channel-id: channel_id=0 must be positive [a]",
                 "error constrain-layout: all all-reduces of a module have constrain_layout=true "
                 "or none: %b has it, %a has not [b]"});
}

TEST_CASE("verifier, collectives: pairs of send that can't be read") {
  CHECK(findings_of_body(R"(
    t = token[] after-all()
    a = (f32[4], u32[], token[]) send(p, t), channel_id=1, frontend_attributes={_xla_send_recv_source_target_pairs="{{0,1"}
    b = token[] send-done(a), channel_id=1
)",
                         {1, 2}) ==
        Findings{"warning source-target-pairs: _xla_send_recv_source_target_pairs is no list of "
                 "pairs like {{0,1},{1,0}} [a]"});
}

TEST_CASE("verifier, collectives: a mesh that can't be") {
  CHECK(findings_of_body(R"(
)",
                         {0, -1}) ==
        Findings{"error mesh: a mesh of 1 replicas and -1 partitions has no devices"});
}

}  // namespace
}  // namespace minihlo
