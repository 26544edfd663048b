#include "passes/ring/mesh_links.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

namespace minihlo {
namespace {

constexpr int64_t kMaxNumbers = int64_t{1} << 26;

// The entries by replica, where all partitions of one have the same; nothing where they have not.
std::optional<std::vector<int64_t>> by_replica(const Mesh& mesh, std::span<const int64_t> list) {
  std::vector<int64_t> result;
  for (int64_t r = 0; r < mesh.replicas; ++r) {
    result.push_back(list[static_cast<size_t>(mesh.flattened(r, 0))]);
    for (int64_t p = 1; p < mesh.partitions; ++p) {
      if (list[static_cast<size_t>(mesh.flattened(r, p))] != result.back()) return std::nullopt;
    }
  }
  return result;
}

std::optional<std::vector<int64_t>> by_partition(const Mesh& mesh, std::span<const int64_t> list) {
  std::span<const int64_t> first = list.first(static_cast<size_t>(mesh.partitions));
  for (int64_t r = 1; r < mesh.replicas; ++r) {
    const auto start = static_cast<size_t>(mesh.flattened(r, 0));
    if (!std::ranges::equal(list.subspan(start, first.size()), first)) return std::nullopt;
  }
  return std::vector<int64_t>(first.begin(), first.end());
}

std::span<const SourceTarget> keep_pairs(Module& module, std::span<const int64_t> source_of) {
  std::vector<SourceTarget> pairs;
  for (size_t target = 0; target < source_of.size(); ++target) {
    if (source_of[target] >= 0) pairs.push_back({source_of[target], static_cast<int64_t>(target)});
  }
  return module.arena().copy(pairs);
}

}  // namespace

bool MeshLinks::take_numbers(int64_t count) {
  if (numbers_ > kMaxNumbers || count > kMaxNumbers) return false;
  numbers_ += count;
  return true;
}

std::string MeshLinks::numbers_used_up() {
  return fmt::format("tables and pairs of those before it hold more than {} numbers", kMaxNumbers);
}

std::string MeshLinks::shared_channel() {
  return "devices may meet in it that are at collectives of its channel in other branches";
}

std::string MeshLinks::waits_for_others() {
  return "devices of other groups may not come to it, and what takes its place waits for them";
}

Instruction* entry_of_device(Emitter& emit, const Mesh& mesh, ElementType type,
                             std::span<const int64_t> by_device) {
  if (std::ranges::all_of(by_device, [&](int64_t one) { return one == by_device[0]; })) {
    return emit.scalar(type, by_device[0]);
  }
  auto look_up = [&](std::span<const int64_t> table, GroupMode mode) {
    Instruction* entries = emit.rewriter().constant(type, table);
    return emit.look_up(entries, emit.id(mode, mesh));
  };
  if (auto table = by_partition(mesh, by_device)) {
    return look_up(*table, GroupMode::kCrossPartition);
  }
  if (auto table = by_replica(mesh, by_device)) return look_up(*table, GroupMode::kCrossReplica);
  return look_up(by_device, GroupMode::kFlattenedId);
}

Instruction* select_by(Emitter& emit, Instruction* flag, Instruction* yes, Instruction* no) {
  const Shape* shape = yes->shape();
  if (!shape->is_scalar()) flag = emit.broadcast(flag, shape);
  return emit.make(Opcode::kSelect, {flag, yes, no}, {}, shape);
}

tl::expected<DeviceMove, std::string> DeviceMove::plan(Module& module, const Mesh& mesh,
                                                       std::vector<int64_t> source_of) {
  DeviceMove move;
  // As sources within the line that the device is on, if they are.
  auto along = [&](auto coordinate, auto other) -> std::optional<std::vector<int64_t>> {
    std::vector<int64_t> result(source_of.size(), -1);
    for (size_t device = 0; device < source_of.size(); ++device) {
      const int64_t source = source_of[device];
      if (source < 0) continue;
      if (other(source) != other(static_cast<int64_t>(device))) return std::nullopt;
      result[device] = coordinate(source);
    }
    return result;
  };
  auto replica = [&](int64_t device) { return mesh.replica(device); };
  auto partition = [&](int64_t device) { return mesh.partition(device); };
  if (auto sources = along(partition, replica)) {
    if (auto line = by_partition(mesh, *sources)) {
      move.permute_ = {true, keep_pairs(module, *line)};
      return move;
    }
  }
  if (auto sources = along(replica, partition)) {
    if (auto line = by_replica(mesh, *sources)) {
      move.permute_ = {false, keep_pairs(module, *line)};
      return move;
    }
  }
  move.plan_shifts(module, mesh, source_of);
  if (move.shifts_.size() > kMaxShifts) {
    return tl::make_unexpected(
        fmt::format("its groups reach over replicas and partitions in more than {} ways, and a "
                    "permute moves along one of them",
                    kMaxShifts));
  }
  return move;
}

void DeviceMove::plan_shifts(Module& module, const Mesh& mesh, std::span<const int64_t> source_of) {
  auto shift = [&](bool along_partitions, int64_t by, int64_t count) {
    Permute result{along_partitions, {}};
    if (by == 0) return result;
    std::vector<int64_t> sources;
    for (int64_t target = 0; target < count; ++target) sources.push_back((target + by) % count);
    result.pairs = keep_pairs(module, sources);
    return result;
  };
  std::map<std::pair<int64_t, int64_t>, size_t> known;
  for (size_t device = 0; device < source_of.size(); ++device) {
    const int64_t source = source_of[device];
    if (source < 0) {
      has_zeros_ = true;
      continue;
    }
    const auto target = static_cast<int64_t>(device);
    const int64_t r = mesh.replica(source) - mesh.replica(target);
    const int64_t p = mesh.partition(source) - mesh.partition(target);
    const std::pair by{r < 0 ? r + mesh.replicas : r, p < 0 ? p + mesh.partitions : p};
    auto [found, is_new] = known.emplace(by, shifts_.size());
    if (is_new) {
      // The caller refuses what has too many.
      if (shifts_.size() > kMaxShifts) return;
      shifts_.push_back({shift(false, by.first, mesh.replicas),
                         shift(true, by.second, mesh.partitions),
                         std::vector<int64_t>(source_of.size())});
    }
    shifts_[found->second].is_target[device] = 1;
  }
}

std::string DeviceMove::waits_for_others() {
  return "devices of other groups may not come to it, and a permute waits for all";
}

bool DeviceMove::stays_within(const Mesh& mesh, int64_t members) const {
  if (!shifts_.empty()) return members == mesh.device_count();
  return members == (permute_.along_partitions ? mesh.partitions : mesh.replicas);
}

Instruction* DeviceMove::emit_permute(Emitter& emit, MeshLinks& links, Instruction* array,
                                      const Permute& permute) {
  Attribute attributes[2] = {make_attribute(attr::source_target_pairs, permute.pairs)};
  size_t count = 1;
  // What makes the ids partitions.
  if (permute.along_partitions) {
    attributes[count++] = make_attribute(attr::channel_id, links.fresh_channel());
  }
  return emit.make(Opcode::kCollectivePermute, std::span(&array, 1), std::span(attributes, count),
                   array->shape());
}

Instruction* DeviceMove::emit(Emitter& emit, MeshLinks& links, Instruction* array) const {
  if (shifts_.empty()) return emit_permute(emit, links, array, permute_);
  Instruction* result = has_zeros_ ? emit.zeros(array->shape()) : nullptr;
  for (const Shift& shift : shifts_) {
    Instruction* shifted = array;
    for (const Permute& permute : {shift.replicas, shift.partitions}) {
      if (!permute.pairs.empty()) shifted = emit_permute(emit, links, shifted, permute);
    }
    if (!result) {
      result = shifted;
      continue;
    }
    Instruction* is_target =
        entry_of_device(emit, links.mesh(), ElementType::PRED, shift.is_target);
    result = select_by(emit, is_target, shifted, result);
  }
  return result;
}

}  // namespace minihlo
