#include "ir/semantics/groups.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ir/text_map.h"

namespace minihlo {
namespace {

constexpr std::string_view kSendRecvPairs = "_xla_send_recv_source_target_pairs";

bool takes(Opcode opcode, AttributeId id) {
  for (const AttributeUse& use : info(opcode).attributes) {
    if (use.id == id) return true;
  }
  return false;
}

// {{0,1},{1,2}}, with blanks anywhere.
tl::expected<std::vector<SourceTarget>, std::string> parse_pairs(std::string_view text) {
  std::vector<SourceTarget> pairs;
  auto blank = [&] {
    size_t start = text.find_first_not_of(" \t\r\n");
    text.remove_prefix(start == text.npos ? text.size() : start);
  };
  auto eat = [&](char c) {
    blank();
    if (!text.starts_with(c)) return false;
    text.remove_prefix(1);
    return true;
  };
  auto number = [&](int64_t& value) {
    blank();
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    return true;
  };
  bool good = eat('{');
  if (good && !eat('}')) {
    do {
      SourceTarget pair;
      good = eat('{') && number(pair.source) && eat(',') && number(pair.target) && eat('}');
      if (good) pairs.push_back(pair);
    } while (good && eat(','));
    good = good && eat('}');
  }
  blank();
  if (good && text.empty()) return pairs;
  return tl::make_unexpected(
      fmt::format("{} is no list of pairs like {{{{0,1}},{{1,0}}}}", kSendRecvPairs));
}

std::string beyond(std::string_view attribute, GroupMode mode, int64_t id, const Mesh& mesh) {
  return fmt::format(
      "{} names {} {}, beyond the mesh of {} replica{} and {} partition{} (--replicas and "
      "--partitions give another)",
      attribute, id_noun(mode), id, mesh.replicas, mesh.replicas == 1 ? "" : "s", mesh.partitions,
      mesh.partitions == 1 ? "" : "s");
}

// What repeats the ids over the mesh: where they are replicas there is a plane for each partition,
// where they are partitions one for each replica, else there is one plane.
struct Planes {
  GroupMode mode;
  const Mesh& mesh;

  int64_t count() const {
    switch (mode) {
      case GroupMode::kCrossReplica:
        return mesh.partitions;
      case GroupMode::kCrossPartition:
        return mesh.replicas;
      default:
        return 1;
    }
  }
  int64_t device(int64_t plane, int64_t id) const {
    switch (mode) {
      case GroupMode::kCrossReplica:
        return mesh.flattened(id, plane);
      case GroupMode::kCrossPartition:
        return mesh.flattened(plane, id);
      default:
        return id;
    }
  }
};

}  // namespace

tl::expected<GroupMode, std::string> group_mode(const Instruction& collective) {
  Opcode opcode = collective.opcode();
  if (!takes(opcode, AttributeId::channel_id)) {
    return tl::make_unexpected(fmt::format("{} has no groups of devices", to_string(opcode)));
  }
  bool channel = collective.has(attr::channel_id);
  if (!takes(opcode, AttributeId::use_global_device_ids)) {
    return channel ? GroupMode::kCrossPartition : GroupMode::kCrossReplica;
  }
  bool global = collective.get(attr::use_global_device_ids);
  if (channel) {
    return global ? GroupMode::kFlattenedId : GroupMode::kCrossReplicaAndPartition;
  }
  if (global) return tl::make_unexpected("use_global_device_ids=true needs a channel_id");
  return GroupMode::kCrossReplica;
}

std::string_view id_noun(GroupMode mode) {
  switch (mode) {
    case GroupMode::kCrossPartition:
      return "partition";
    case GroupMode::kFlattenedId:
      return "device";
    default:
      return "replica";
  }
}

int64_t id_count(GroupMode mode, const Mesh& mesh) {
  switch (mode) {
    case GroupMode::kCrossPartition:
      return mesh.partitions;
    case GroupMode::kFlattenedId:
      return mesh.device_count();
    default:
      return mesh.replicas;
  }
}

int64_t listed_id_count(const DeviceGroups& groups) {
  switch (groups.form) {
    case DeviceGroups::Form::kIota:
      return groups.iota->size();
    case DeviceGroups::Form::kMesh:
      return groups.mesh->size();
    case DeviceGroups::Form::kLists:
      break;
  }
  int64_t count = 0;
  for (std::span<const int64_t> list : groups.lists) count += static_cast<int64_t>(list.size());
  return count;
}

int64_t first_group_size(const DeviceGroups& groups) {
  switch (groups.form) {
    case DeviceGroups::Form::kIota:
      return groups.iota->dims[1];
    case DeviceGroups::Form::kMesh: {
      TextMap<int64_t> sizes;
      for (const MeshAxis& axis : groups.mesh->axes) sizes.insert(axis.name, axis.size);
      int64_t size = 1;
      for (const AxisRef& ref : groups.axes) {
        if (const auto* whole = sizes.find(ref.name))
          size *= ref.pre == 0 ? whole->value : ref.size;
      }
      return size;
    }
    case DeviceGroups::Form::kLists:
      break;
  }
  return groups.lists.empty() ? 0 : static_cast<int64_t>(groups.lists[0].size());
}

bool CollectiveGroups::is_uniform() const {
  for (int64_t i = 1; i < size(); ++i) {
    if (group_size(i) != group_size(0)) return false;
  }
  return true;
}

bool CollectiveGroups::covers_mesh() const { return members_.size() == group_of.size(); }

tl::expected<CollectiveGroups, std::string> collective_groups(const Instruction& collective,
                                                              const Mesh& mesh) {
  auto mode = group_mode(collective);
  if (!mode) return tl::make_unexpected(mode.error());
  const int64_t ids = id_count(*mode, mesh);
  const DeviceGroups* written = collective.get(attr::replica_groups);

  std::vector<std::vector<int64_t>> lists;
  if (!written || written->empty()) {
    if (*mode == GroupMode::kFlattenedId) {
      return tl::make_unexpected("use_global_device_ids=true needs replica_groups");
    }
    lists.emplace_back(static_cast<size_t>(ids));
    for (int64_t id = 0; id < ids; ++id) lists[0][static_cast<size_t>(id)] = id;
  } else {
    if (std::string wrong = written->check(); !wrong.empty()) {
      return tl::make_unexpected("replica_groups: " + wrong);
    }
    // Checked before anything of that size is made.
    if (int64_t listed = listed_id_count(*written); listed > ids) {
      return tl::make_unexpected(
          fmt::format("replica_groups lists {} ids, but the mesh of {} replicas and {} partitions "
                      "has {} {}s",
                      listed, mesh.replicas, mesh.partitions, ids, id_noun(*mode)));
    }
    lists = written->materialize();
  }

  std::vector<bool> seen(static_cast<size_t>(ids), false);
  for (size_t i = 0; i < lists.size(); ++i) {
    if (lists[i].empty()) {
      return tl::make_unexpected(fmt::format("group {} of replica_groups is empty", i));
    }
    for (int64_t id : lists[i]) {
      if (id < 0 || id >= ids) {
        return tl::make_unexpected(beyond("replica_groups", *mode, id, mesh));
      }
      if (seen[static_cast<size_t>(id)]) {
        return tl::make_unexpected(
            fmt::format("replica_groups lists {} {} twice", id_noun(*mode), id));
      }
      seen[static_cast<size_t>(id)] = true;
    }
  }

  CollectiveGroups result;
  result.mode = *mode;
  const size_t devices = static_cast<size_t>(mesh.device_count());
  result.group_of.assign(devices, -1);
  result.rank_of.assign(devices, -1);
  result.members_.reserve(devices);
  auto add = [&](int64_t device) {
    result.group_of[static_cast<size_t>(device)] = result.size();
    result.rank_of[static_cast<size_t>(device)] =
        static_cast<int64_t>(result.members_.size()) - result.starts_.back();
    result.members_.push_back(device);
  };
  const Planes planes{*mode, mesh};
  for (int64_t plane = 0; plane < planes.count(); ++plane) {
    for (const std::vector<int64_t>& list : lists) {
      for (int64_t id : list) {
        if (*mode == GroupMode::kCrossReplicaAndPartition) {
          for (int64_t p = 0; p < mesh.partitions; ++p) add(mesh.flattened(id, p));
        } else {
          add(planes.device(plane, id));
        }
      }
      result.starts_.push_back(static_cast<int64_t>(result.members_.size()));
    }
  }
  return result;
}

bool has_source_target_pairs(const Instruction& permute) {
  if (takes(permute.opcode(), AttributeId::source_target_pairs)) return true;
  for (const NamedString& attribute : permute.get(attr::frontend_attributes)) {
    if (attribute.name == kSendRecvPairs) return true;
  }
  return false;
}

tl::expected<std::vector<SourceTarget>, std::string> source_target_pairs(
    const Instruction& permute) {
  if (takes(permute.opcode(), AttributeId::source_target_pairs)) {
    auto pairs = permute.get(attr::source_target_pairs);
    return std::vector<SourceTarget>(pairs.begin(), pairs.end());
  }
  for (const NamedString& attribute : permute.get(attr::frontend_attributes)) {
    if (attribute.name == kSendRecvPairs) return parse_pairs(attribute.value);
  }
  return tl::make_unexpected(
      fmt::format("{} has no source and target pairs", to_string(permute.opcode())));
}

tl::expected<std::vector<PermuteMap>, std::string> permute_rounds(const Instruction& permute,
                                                                  const Mesh& mesh) {
  auto mode = group_mode(permute);
  if (!mode) return tl::make_unexpected(mode.error());
  auto pairs = source_target_pairs(permute);
  if (!pairs) return tl::make_unexpected(pairs.error());
  const bool in_pairs = takes(permute.opcode(), AttributeId::source_target_pairs);
  const std::string_view attribute = in_pairs ? "source_target_pairs" : kSendRecvPairs;

  PermuteMap empty;
  empty.mode = *mode;
  empty.source_of.assign(static_cast<size_t>(mesh.device_count()), -1);
  empty.target_of = empty.source_of;
  const size_t limit = std::max<size_t>(1, permute.get(attr::permute_slice_sizes).size());
  std::vector<PermuteMap> rounds{empty};
  const int64_t ids = id_count(*mode, mesh);
  const Planes planes{*mode, mesh};
  for (const SourceTarget& pair : *pairs) {
    for (int64_t id : {pair.source, pair.target}) {
      if (id < 0 || id >= ids) return tl::make_unexpected(beyond(attribute, *mode, id, mesh));
    }
    // The planes are alike, so the first one tells whether an id is there already.
    auto sends = [&](const PermuteMap& map) {
      return map.target_of[static_cast<size_t>(planes.device(0, pair.source))] >= 0;
    };
    auto receives = [&](const PermuteMap& map) {
      return map.source_of[static_cast<size_t>(planes.device(0, pair.target))] >= 0;
    };
    size_t round = 0;
    while (round < rounds.size() && (sends(rounds[round]) || receives(rounds[round]))) ++round;
    if (round == limit) {
      bool source = sends(rounds.back());
      const std::string times = limit == 1 ? "twice" : fmt::format("more than {} times", limit);
      return tl::make_unexpected(fmt::format("{} has {} {} as {} {}", attribute, id_noun(*mode),
                                             source ? pair.source : pair.target,
                                             source ? "source" : "target", times));
    }
    if (round == rounds.size()) rounds.push_back(empty);
    for (int64_t plane = 0; plane < planes.count(); ++plane) {
      int64_t source = planes.device(plane, pair.source);
      int64_t target = planes.device(plane, pair.target);
      rounds[round].source_of[static_cast<size_t>(target)] = source;
      rounds[round].target_of[static_cast<size_t>(source)] = target;
    }
  }
  return rounds;
}

tl::expected<PermuteMap, std::string> permute_sources(const Instruction& permute,
                                                      const Mesh& mesh) {
  auto rounds = permute_rounds(permute, mesh);
  if (!rounds) return tl::make_unexpected(std::move(rounds.error()));
  if (rounds->size() > 1) return tl::make_unexpected("devices are named several times");
  return std::move(rounds->front());
}

}  // namespace minihlo
