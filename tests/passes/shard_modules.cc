#include "tests/passes/shard_modules.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace minihlo::testing {
namespace {

int64_t below(std::mt19937& random, int64_t count) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(count));
}

std::string list(const std::vector<int64_t>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

std::string shape(const std::string& type, const std::vector<int64_t>& dims) {
  return fmt::format("{}[{}]", type, list(dims));
}

// The flattened id as an s32[] called `name`.
std::string flattened_id(const std::string& name, const Mesh& mesh) {
  return fmt::format(R"(  {0}.r = u32[] replica-id()
  {0}.p = u32[] partition-id()
  {0}.n = u32[] constant({1})
  {0}.m = u32[] multiply({0}.r, {0}.n)
  {0}.a = u32[] add({0}.m, {0}.p)
  {0} = s32[] convert({0}.a)
)",
                     name, mesh.partitions);
}

std::string looked_up(const std::string& name, const std::string& id,
                      const std::vector<int64_t>& by_device) {
  return fmt::format(R"(  {0}.t = s32[{1}] constant({{{2}}})
  {0}.s = s32[1] dynamic-slice({0}.t, {3}), dynamic_slice_sizes={{1}}
  {0} = s32[] reshape({0}.s)
)",
                     name, by_device.size(), list(by_device), id);
}

}  // namespace

KnownScalar known_scalar(const std::string& name, const std::vector<int64_t>& by_device,
                         const Mesh& mesh, int way) {
  const std::string id = name + ".id";
  const std::string count = std::to_string(mesh.device_count());
  switch (way) {
    case 0:
      return {"", flattened_id(id, mesh) + looked_up(name, id, by_device)};
    case 1: {
      // A table with an axis for replicas and one for partitions.
      std::string rows;
      for (int64_t r = 0; r < mesh.replicas; ++r) {
        auto first = by_device.begin() + r * mesh.partitions;
        rows += fmt::format("{}{{{}}}", r ? "," : "",
                            list(std::vector<int64_t>(first, first + mesh.partitions)));
      }
      return {"", fmt::format(R"(  {0}.t = s32[{1},{2}] constant({{{3}}})
  {0}.r = u32[] replica-id()
  {0}.p = u32[] partition-id()
  {0}.s = s32[1,1] dynamic-slice({0}.t, {0}.r, {0}.p), dynamic_slice_sizes={{1,1}}
  {0} = s32[] reshape({0}.s)
)",
                              name, mesh.replicas, mesh.partitions, rows)};
    }
    case 2: {
      // A row of selects.
      std::string text = flattened_id(id, mesh);
      std::string last = name + ".0";
      text += fmt::format("  {} = s32[] constant({})\n", last, by_device[0]);
      for (size_t d = 1; d < by_device.size(); ++d) {
        const std::string next = fmt::format("{}.{}", name, d);
        text += fmt::format(R"(  {0}.d = s32[] constant({1})
  {0}.c = pred[] compare({2}, {0}.d), direction=EQ
  {0}.v = s32[] constant({3})
  {0} = s32[] select({0}.c, {0}.v, {4})
)",
                            next, d, id, by_device[d], last);
        last = next;
      }
      return {"", text + fmt::format("  {} = s32[] copy({})\n", name, last)};
    }
    case 3: {
      // Looked up in a fusion, from the id outside.
      std::string inside = fmt::format("{0}.f {{\n  {0}.x = s32[] parameter(0)\n", name) +
                           looked_up(name + ".in", name + ".x", by_device) + "}\n\n";
      const std::string root = fmt::format("  {}.in = ", name);
      inside.replace(inside.find(root), root.size(), fmt::format("  ROOT {}.in = ", name));
      return {inside,
              flattened_id(id, mesh) +
                  fmt::format("  {0} = s32[] fusion({1}), kind=kLoop, calls={0}.f\n", name, id)};
    }
    case 4: {
      // Worked out with more bits, too large, and cut down again.
      std::vector<int64_t> raised = by_device;
      for (int64_t& one : raised) one = one * 3 + 1000;
      return {"", flattened_id(id, mesh) + looked_up(name + ".l", id, raised) +
                      fmt::format(R"(  {0}.w = s64[] convert({0}.l)
  {0}.o = s64[] constant(1000)
  {0}.b = s64[] subtract({0}.w, {0}.o)
  {0}.q = s64[] constant(3)
  {0}.v = s64[] divide({0}.b, {0}.q)
  {0} = s32[] convert({0}.v)
)",
                                  name)};
    }
    default: {
      // In a computation that is called, which asks for the id itself.
      std::string inside = fmt::format("{0}.f {{\n", name) + flattened_id(name + ".x", mesh) +
                           looked_up(name + ".in", name + ".x", by_device) + "}\n\n";
      const std::string root = fmt::format("  {}.in = ", name);
      inside.replace(inside.find(root), root.size(), fmt::format("  ROOT {}.in = ", name));
      return {inside, fmt::format("  {0} = s32[] call(), to_apply={0}.f\n", name)};
    }
  }
}

ShardModule random_shard_module(std::mt19937& random, const std::string& collective) {
  ShardModule made;
  made.mesh = {1 + below(random, 4), 1 + below(random, 4)};
  const Mesh& mesh = made.mesh;
  const auto ids = static_cast<GroupIds>(below(random, 3));
  const int64_t count = ids == GroupIds::kFlattened ? mesh.device_count() : mesh.replicas;
  int64_t size = 1 + below(random, count);
  while (count % size != 0) --size;
  if (below(random, 3) > 0) size = count;
  std::vector<int64_t> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  if (below(random, 2) == 0) std::shuffle(all.begin(), all.end(), random);
  std::string written;
  for (int64_t first = 0; first < count; first += size) {
    std::vector<int64_t> group(all.begin() + first, all.begin() + first + size);
    written += fmt::format("{}{{{}}}", first ? "," : "", list(group));
    switch (ids) {
      case GroupIds::kReplicas:
        for (int64_t p = 0; p < mesh.partitions; ++p) {
          std::vector<int64_t>& devices = made.groups.emplace_back();
          for (int64_t replica : group) devices.push_back(mesh.flattened(replica, p));
        }
        break;
      case GroupIds::kReplicasAndPartitions: {
        std::vector<int64_t>& devices = made.groups.emplace_back();
        for (int64_t replica : group) {
          for (int64_t p = 0; p < mesh.partitions; ++p) {
            devices.push_back(mesh.flattened(replica, p));
          }
        }
        break;
      }
      case GroupIds::kFlattened:
        made.groups.push_back(group);
        break;
    }
  }
  if (ids != GroupIds::kFlattened && size == count && std::ranges::is_sorted(all) &&
      below(random, 2) == 0) {
    written.clear();
  }

  // Which shard each device takes.
  made.rank_of.resize(static_cast<size_t>(mesh.device_count()));
  made.shard.resize(made.rank_of.size());
  const int64_t kind = below(random, 4);
  made.is_one_to_one = true;
  for (const std::vector<int64_t>& group : made.groups) {
    std::vector<int64_t> places(group.size());
    std::iota(places.begin(), places.end(), 0);
    if (kind >= 2) std::shuffle(places.begin(), places.end(), random);
    if (kind == 3) {
      places[0] = places.back();
      made.is_one_to_one &= places.size() == 1;
    }
    for (size_t rank = 0; rank < group.size(); ++rank) {
      made.rank_of[static_cast<size_t>(group[rank])] = static_cast<int64_t>(rank);
      made.shard[static_cast<size_t>(group[rank])] = places[rank];
    }
  }

  const bool gathers = collective == "all-gather";
  const std::vector<std::string> types = {"f32", "s32", "bf16", "u8", "s64"};
  const std::string type = types[static_cast<size_t>(below(random, 5))];
  made.is_integer = type[0] == 's' || type[0] == 'u';
  std::vector<int64_t> small;
  for (int64_t rank = 1 + below(random, 3); rank > 0; --rank) small.push_back(1 + below(random, 3));
  int64_t axis = below(random, static_cast<int64_t>(small.size()));
  made.is_reshaped = below(random, 4) == 0;
  if (made.is_reshaped) axis = 0;
  std::vector<int64_t> large = small;
  large[static_cast<size_t>(axis)] *= made.members();
  made.has_other_users = below(random, 3) == 0;
  made.is_async = below(random, 4) == 0;

  std::string attributes = fmt::format("replica_groups={{{}}}", written);
  if (gathers) attributes += fmt::format(", dimensions={{{}}}", axis);
  if (!gathers) attributes += ", to_apply=sum";
  if (ids != GroupIds::kReplicas) attributes += ", channel_id=7";
  if (ids == GroupIds::kFlattened) attributes += ", use_global_device_ids=true";
  const std::vector<int64_t>& before = gathers ? small : large;

  // The start, in elements along the axis; what is beyond the last shard is clamped to it.
  int64_t extent = small[static_cast<size_t>(axis)];
  std::vector<int64_t> sliced = large, sizes = small;
  std::string view;
  if (made.is_reshaped) {
    // One row a shard.
    const int64_t row =
        std::accumulate(small.begin(), small.end(), int64_t{1}, std::multiplies<>());
    sliced = {made.members(), row};
    sizes = {1, row};
    extent = 1;
    axis = 0;
    view = fmt::format("  view = {} reshape(whole)\n", shape(type, sliced));
  }
  std::vector<int64_t> starts = made.shard;
  const bool overshoots = below(random, 3) == 0;
  const bool multiplied = below(random, 2) == 0;
  for (int64_t& start : starts) {
    if (overshoots && start == made.members() - 1) start += 5;
    if (!multiplied) start *= extent;
  }
  KnownScalar start = known_scalar("k", starts, mesh, static_cast<int>(below(random, kWays)));
  std::string offset = "k";
  if (multiplied) {
    start.instructions +=
        fmt::format("  e = s32[] constant({})\n  o = s32[] multiply(k, e)\n", extent);
    offset = "o";
  }
  std::string operands = made.is_reshaped ? "view" : "whole";
  for (size_t d = 0; d < sliced.size(); ++d) {
    operands += static_cast<int64_t>(d) == axis ? ", " + offset : ", zero";
  }
  std::string collected;
  if (!made.is_async) {
    collected = fmt::format("  whole = {} {}(x), {}\n", shape(type, large), collective, attributes);
  } else {
    const std::string both = gathers
                                 ? fmt::format("({}, {})", shape(type, before), shape(type, large))
                                 : shape(type, large);
    collected = fmt::format("  begun = {} {}-start(x), {}\n  whole = {} {}-done(begun)\n", both,
                            collective, attributes, shape(type, large), collective);
  }
  const std::string result = shape(type, sizes);
  made.text = fmt::format(
      R"(HloModule m, replica_count={}, num_partitions={}

sum {{
  sum.a = {}[] parameter(0)
  sum.b = {}[] parameter(1)
  ROOT sum.c = {}[] add(sum.a, sum.b)
}}

{}ENTRY e {{
  x = {} parameter(0)
{}{}  zero = s32[] constant(0)
{}  own = {} dynamic-slice({}), dynamic_slice_sizes={{{}}}, metadata={{op_name="own"}}
{}}}
)",
      mesh.replicas, mesh.partitions, type, type, type, start.computations, shape(type, before),
      start.instructions, collected, view, result, operands, list(sizes),
      made.has_other_users
          ? fmt::format("  ROOT t = ({}, {}) tuple(own, whole)\n", result, shape(type, large))
          : fmt::format("  ROOT t = ({}) tuple(own)\n", result));
  return made;
}

}  // namespace minihlo::testing
