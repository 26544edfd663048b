#include "tools/run_report.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/walk.h"
#include "tools/tensor_text.h"

namespace minihlo {
namespace {

constexpr int64_t kMaxJsonValues = 4096;

bool same_tensors(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].data == b[i].data || a[i].bytes == 0) continue;
    if (std::memcmp(a[i].data.get(), b[i].data.get(), static_cast<size_t>(a[i].bytes)) != 0) {
      return false;
    }
  }
  return true;
}

// Devices with the same outputs, in the order of the first of each.
class AlikeDevices {
 public:
  explicit AlikeDevices(const RunResult& result) : result_(result) {}

  void add(int device) {
    const std::vector<HostTensor>& outputs = of(device);
    size_t key = 0;
    for (const HostTensor& tensor : outputs) key = key * 31 + hash(tensor);
    for (auto [at, end] = by_key_.equal_range(key); at != end; ++at) {
      if (!same_tensors(of(groups_[at->second][0]), outputs)) continue;
      groups_[at->second].push_back(device);
      return;
    }
    by_key_.emplace(key, groups_.size());
    groups_.push_back({device});
  }
  const std::vector<std::vector<int>>& groups() const { return groups_; }

 private:
  const std::vector<HostTensor>& of(int device) const {
    return result_.outputs[static_cast<size_t>(device)];
  }
  // Devices share much of their memory, which is looked at once.
  size_t hash(const HostTensor& tensor) {
    auto [known, is_new] = hashes_.try_emplace(tensor.data.get());
    if (is_new) {
      known->second = std::hash<std::string_view>()(
          {reinterpret_cast<const char*>(tensor.data.get()), static_cast<size_t>(tensor.bytes)});
    }
    return known->second;
  }

  const RunResult& result_;
  std::vector<std::vector<int>> groups_;
  std::unordered_multimap<size_t, size_t> by_key_;
  std::unordered_map<const std::byte*, size_t> hashes_;
};

}  // namespace

ExitCode exit_code(Stop::Kind kind) {
  switch (kind) {
    case Stop::Kind::kDeadlock:
    case Stop::Kind::kMismatch:
    case Stop::Kind::kNan:
      return ExitCode::kDiffers;
    case Stop::Kind::kUnsupported:
      return ExitCode::kUnsupported;
    case Stop::Kind::kMemory:
    case Stop::Kind::kSteps:
    case Stop::Kind::kTime:
      return ExitCode::kUndecided;
    default:
      return ExitCode::kInvalid;
  }
}

std::string_view kind_text(Stop::Kind kind) {
  switch (kind) {
    case Stop::Kind::kInvalid:
      return "invalid";
    case Stop::Kind::kUnsupported:
      return "unsupported";
    case Stop::Kind::kDeadlock:
      return "deadlock";
    case Stop::Kind::kMismatch:
      return "mismatch";
    case Stop::Kind::kNan:
      return "nan";
    case Stop::Kind::kMemory:
      return "memory";
    case Stop::Kind::kSteps:
      return "steps";
    case Stop::Kind::kTime:
      return "timeout";
  }
  return "";
}

std::string outputs_text(const Mesh& mesh, const RunResult& result, std::span<const int> devices,
                         bool in_full) {
  std::string out;
  AlikeDevices alike(result);
  for (const int device : devices) alike.add(device);
  for (const std::vector<int>& group : alike.groups()) {
    out +=
        fmt::format("{}:\n", group.size() == 1 ? device_name(mesh, group[0]) : device_list(group));
    const std::vector<HostTensor>& outputs = result.outputs[static_cast<size_t>(group[0])];
    for (size_t i = 0; i < outputs.size(); ++i) {
      out += fmt::format("  {}{}\n", outputs.size() > 1 ? fmt::format("{}: ", i) : "",
                         tensor_text(outputs[i], in_full));
    }
  }
  return out;
}

Json tensor_json(const HostTensor& tensor, bool in_full) {
  Json result = Json::object();
  result.set("dtype", to_string(tensor.type));
  Json dims = Json::array();
  for (int64_t dim : tensor.dims) dims.push(dim);
  result.set("dims", std::move(dims));
  Json values = Json::array();
  const int64_t count = tensor.element_count();
  const int64_t shown = in_full ? count : std::min(count, kMaxJsonValues);
  for (int64_t i = 0; i < shown; ++i) values.push(element_text(tensor, i));
  result.set("values", std::move(values));
  if (shown < count) result.set("left_out", count - shown);
  return result;
}

Json outputs_json(const RunResult& result, std::span<const int> devices, bool in_full) {
  Json list = Json::array();
  for (const int device : devices) {
    Json entry = Json::object();
    entry.set("device", device);
    Json outputs = Json::array();
    for (const HostTensor& tensor : result.outputs[static_cast<size_t>(device)]) {
      outputs.push(tensor_json(tensor, in_full));
    }
    entry.set("outputs", std::move(outputs));
    list.push(std::move(entry));
  }
  return list;
}

Json stats_json(const RunStats& stats) {
  Json object = Json::object();
  object.set("peak_memory", stats.peak_memory);
  object.set("steps", stats.steps);
  object.set("seconds", stats.seconds);
  return object;
}

}  // namespace minihlo
