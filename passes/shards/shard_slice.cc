#include "passes/shards/shard_slice.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ir/row_major.h"
#include "ir/semantics/collective_forms.h"

namespace minihlo {
namespace {

constexpr std::string_view kUnknown = "where it slices does not follow from constants and ids";

int64_t product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

tl::unexpected<std::string> no_shard(const Instruction& slice) {
  return tl::make_unexpected(fmt::format("%{} does not slice out a whole shard", slice.name()));
}

// Divides starts, in elements from the first one of the array or axis, into numbers of shards.
tl::expected<std::vector<int64_t>, std::string> shard_numbers(const Instruction& slice,
                                                              std::vector<int64_t> starts,
                                                              int64_t size) {
  for (int64_t& start : starts) {
    if (start % size != 0) return no_shard(slice);
    start /= size;
  }
  return starts;
}

}  // namespace

std::optional<std::vector<int64_t>> slice_starts(const Instruction& slice, int64_t axis,
                                                 KnownValues& known, const Mesh& mesh) {
  const auto d = static_cast<size_t>(axis);
  const int64_t last =
      slice.operand(0)->shape()->dim(axis) - slice.get(attr::dynamic_slice_sizes)[d];
  std::vector<int64_t> starts(static_cast<size_t>(mesh.device_count()), 0);
  if (last == 0) return starts;
  // One scalar a dimension, or a vector of them all.
  const bool is_vector = slice.operand(1)->shape()->rank() == 1;
  const Instruction& start = *slice.operand(is_vector ? 1 : 1 + d);
  for (size_t device = 0; device < starts.size(); ++device) {
    auto value = known.integer(start, static_cast<int64_t>(device), is_vector ? axis : 0);
    if (!value) return std::nullopt;
    starts[device] = std::clamp<int64_t>(*value, 0, last);
  }
  return starts;
}

tl::expected<std::vector<int64_t>, std::string> sliced_shards(const Instruction& slice,
                                                              const Shards& shards,
                                                              KnownValues& known,
                                                              const Mesh& mesh) {
  std::span<const int64_t> whole = slice.operand(0)->shape()->dims();
  std::span<const int64_t> sizes = slice.get(attr::dynamic_slice_sizes);
  const auto axis = static_cast<size_t>(shards.axis);
  if (product(shards.dims) == 0) return tl::make_unexpected("it has no elements");
  if (std::ranges::equal(whole, shards.dims)) {
    const int64_t size = whole[axis] / shards.count;
    for (size_t d = 0; d < whole.size(); ++d) {
      if (sizes[d] != (d == axis ? size : whole[d])) return no_shard(slice);
    }
    auto starts = slice_starts(slice, shards.axis, known, mesh);
    if (!starts) return tl::make_unexpected(std::string(kUnknown));
    return shard_numbers(slice, *std::move(starts), size);
  }
  // Cut along the outermost axis that has more than one place, shards are runs of elements.
  if (product(shards.dims.first(axis)) != 1) {
    return tl::make_unexpected("what is sliced is reshaped, and its shards are no runs of it");
  }
  const int64_t size = product(shards.dims) / shards.count;
  if (product(sizes) != size) return no_shard(slice);
  // A slice is a run where it takes one place of each outer axis and all of each inner one.
  size_t cut = 0;
  while (cut < sizes.size() && sizes[cut] == 1) ++cut;
  for (size_t d = cut + 1; d < sizes.size(); ++d) {
    if (sizes[d] != whole[d]) return no_shard(slice);
  }
  const std::vector<int64_t> strides = row_major_strides(whole);
  std::vector<int64_t> starts(static_cast<size_t>(mesh.device_count()), 0);
  for (size_t d = 0; d < std::min(cut + 1, sizes.size()); ++d) {
    auto along = slice_starts(slice, static_cast<int64_t>(d), known, mesh);
    if (!along) return tl::make_unexpected(std::string(kUnknown));
    for (size_t device = 0; device < starts.size(); ++device) {
      starts[device] += (*along)[device] * strides[d];
    }
  }
  return shard_numbers(slice, std::move(starts), size);
}

bool gathers_one_shard_each(const Instruction& gather, const CollectiveGroups& groups) {
  const int64_t axis = gather.get(attr::dimensions)[0];
  const std::vector<const Shape*> results = leaf_shapes(collective_result_shape(gather));
  for (size_t i = 0; i < results.size(); ++i) {
    const int64_t extent = gather.operand(i)->shape()->dim(axis);
    if (results[i]->dim(axis) != extent * groups.group_size(0)) return false;
  }
  return true;
}

std::vector<int64_t> members_at(const CollectiveGroups& groups, std::span<const int64_t> places) {
  std::vector<int64_t> members(places.size());
  for (size_t device = 0; device < places.size(); ++device) {
    members[device] = groups.group(groups.group_of[device])[static_cast<size_t>(places[device])];
  }
  return members;
}

tl::expected<std::vector<SourceTarget>, std::string> permute_pairs(
    std::span<const int64_t> source_of, GroupMode mode, const Mesh& mesh) {
  const bool is_replicas = mode == GroupMode::kCrossReplica;
  auto id_of = [&](int64_t device) {
    return is_replicas ? mesh.replica(device) : mesh.partition(device);
  };
  auto line_of = [&](int64_t device) {
    return is_replicas ? mesh.partition(device) : mesh.replica(device);
  };
  constexpr int64_t kUnset = -2;
  std::vector<int64_t> source_id(static_cast<size_t>(id_count(mode, mesh)), kUnset);
  std::vector<int64_t> target_id(source_id.size(), kUnset);
  for (int64_t device = 0; device < mesh.device_count(); ++device) {
    const int64_t source = source_of[static_cast<size_t>(device)];
    if (source >= 0 && line_of(source) != line_of(device)) {
      return tl::make_unexpected(fmt::format("device {} takes what is of device {}, of another {}",
                                             device, source,
                                             is_replicas ? "partition" : "replica"));
    }
    int64_t& known = source_id[static_cast<size_t>(id_of(device))];
    const int64_t id = source < 0 ? -1 : id_of(source);
    if (known != kUnset && known != id) {
      return tl::make_unexpected(fmt::format("what {} {} takes depends on the {}", id_noun(mode),
                                             id_of(device), is_replicas ? "partition" : "replica"));
    }
    known = id;
  }
  std::vector<SourceTarget> pairs;
  for (size_t id = 0; id < source_id.size(); ++id) {
    if (source_id[id] < 0) continue;
    int64_t& target = target_id[static_cast<size_t>(source_id[id])];
    if (target != kUnset) {
      return tl::make_unexpected(fmt::format("{0} {1} and {0} {2} both take what is of {0} {3}",
                                             id_noun(mode), target, id, source_id[id]));
    }
    target = static_cast<int64_t>(id);
  }
  for (size_t source = 0; source < target_id.size(); ++source) {
    if (target_id[source] >= 0) pairs.push_back({static_cast<int64_t>(source), target_id[source]});
  }
  return pairs;
}

}  // namespace minihlo
