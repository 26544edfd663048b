#include "sim/walk.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace minihlo {

std::optional<Stop> StepCounter::step(int64_t count) {
  steps_ += count;
  if (steps_ > limits_.max_steps) {
    return Stop{Stop::Kind::kSteps,
                fmt::format("stopped after {} steps (--max-steps)", limits_.max_steps),
                {}};
  }
  if (limits_.counter) limits_.counter->store(steps_, std::memory_order_relaxed);
  if (limits_.deadline && std::chrono::steady_clock::now() > *limits_.deadline) {
    return Stop{
        Stop::Kind::kTime, fmt::format("out of time after {} steps (--timeout)", steps_), {}};
  }
  return std::nullopt;
}

tl::expected<const CollectiveGroups*, Stop> Meetings::of(const Instruction& collective) {
  auto found = groups_.find(&collective);
  if (found == groups_.end()) {
    tl::expected<CollectiveGroups, std::string> groups = collective_groups(collective, mesh_);
    if (!groups) {
      return tl::unexpected(
          Stop::invalid(fmt::format("{}: {}", instruction_place(collective), groups.error())));
    }
    found = groups_.emplace(&collective, *std::move(groups)).first;
  }
  return &found->second;
}

tl::expected<const PermuteMap*, Stop> Meetings::pairs_of(const Instruction& send_or_recv) {
  auto found = pairs_.find(&send_or_recv);
  if (found == pairs_.end()) {
    if (!has_source_target_pairs(send_or_recv)) {
      return tl::unexpected(Stop::unsupported(
          std::string(to_string(send_or_recv.opcode())),
          fmt::format("{} does not say who sends to whom (_xla_send_recv_source_target_pairs)",
                      instruction_place(send_or_recv))));
    }
    tl::expected<PermuteMap, std::string> pairs = permute_sources(send_or_recv, mesh_);
    if (!pairs) {
      return tl::unexpected(
          Stop::invalid(fmt::format("{}: {}", instruction_place(send_or_recv), pairs.error())));
    }
    found = pairs_.emplace(&send_or_recv, *std::move(pairs)).first;
  }
  return &found->second;
}

bool may_meet(const Instruction& a, const Instruction& b) {
  if (&a == &b) return true;
  if (a.opcode() == Opcode::kRecvDone || b.opcode() == Opcode::kRecvDone) return false;
  std::optional<int64_t> channel = a.find(attr::channel_id);
  return channel && channel == b.find(attr::channel_id);
}

namespace {

constexpr int kMaxDepth = 100;

// Whether two computations do the same, instruction by instruction.
bool same_computation(const Computation& a, const Computation& b, int depth = 0) {
  if (&a == &b) return true;
  if (depth > kMaxDepth || a.size() != b.size() || a.root()->number() != b.root()->number()) {
    return false;
  }
  for (size_t i = 0; i < a.size(); ++i) {
    const Instruction &x = *a.instructions()[i], &y = *b.instructions()[i];
    if (x.opcode() != y.opcode() || !compatible(x.shape(), y.shape()) ||
        x.operand_count() != y.operand_count() ||
        x.get(attr::parameter_number) != y.get(attr::parameter_number) ||
        x.get(attr::direction) != y.get(attr::direction) ||
        x.get(attr::index) != y.get(attr::index)) {
      return false;
    }
    for (size_t k = 0; k < x.operand_count(); ++k) {
      if (x.operand(k)->number() != y.operand(k)->number()) return false;
    }
    if (x.opcode() == Opcode::kConstant) {
      const Literal *p = x.get(attr::literal_value), *q = y.get(attr::literal_value);
      if (p->form != q->form || !std::ranges::equal(p->bytes, q->bytes)) return false;
    }
    std::vector<Computation*> called = x.called_computations(), other = y.called_computations();
    if (called.size() != other.size()) return false;
    for (size_t k = 0; k < called.size(); ++k) {
      if (!same_computation(*called[k], *other[k], depth + 1)) return false;
    }
  }
  return true;
}

bool same_pair(const SourceTarget& a, const SourceTarget& b) {
  return a.source == b.source && a.target == b.target;
}

}  // namespace

std::string meeting_conflict(const Instruction& a, const Instruction& b) {
  if (&a == &b) return "";
  if (a.opcode() != b.opcode()) {
    return fmt::format("{} and {}", to_string(a.opcode()), to_string(b.opcode()));
  }
  if (!compatible(a.shape(), b.shape())) {
    return fmt::format("results {} and {}", to_string(a.shape(), false),
                       to_string(b.shape(), false));
  }
  if (a.operand_count() != b.operand_count()) return "they have different numbers of operands";
  for (size_t i = 0; i < a.operand_count(); ++i) {
    if (!compatible(a.operand(i)->shape(), b.operand(i)->shape())) {
      return fmt::format("operands {} and {}", to_string(a.operand(i)->shape(), false),
                         to_string(b.operand(i)->shape(), false));
    }
  }
  auto dims_a = a.get(attr::dimensions), dims_b = b.get(attr::dimensions);
  if (!std::ranges::equal(dims_a, dims_b)) return "they work along different dimensions";
  if (!std::ranges::equal(a.get(attr::source_target_pairs), b.get(attr::source_target_pairs),
                          same_pair)) {
    return "their source and target pairs differ";
  }
  if (!std::ranges::equal(a.get(attr::permute_slice_sizes), b.get(attr::permute_slice_sizes),
                          std::ranges::equal)) {
    return "their slices differ";
  }
  const Computation *reducer_a = a.get(attr::to_apply), *reducer_b = b.get(attr::to_apply);
  if (reducer_a && reducer_b && !same_computation(*reducer_a, *reducer_b)) {
    return fmt::format("reducers %{} and %{}", reducer_a->name(), reducer_b->name());
  }
  return "";
}

std::string device_name(const Mesh& mesh, int64_t device) {
  return fmt::format("device {} (replica {}, partition {})", device, mesh.replica(device),
                     mesh.partition(device));
}

std::string device_list(std::span<const int> devices) {
  std::vector<int> sorted(devices.begin(), devices.end());
  std::sort(sorted.begin(), sorted.end());
  std::string out = sorted.size() == 1 ? "device " : "devices ";
  for (size_t i = 0; i < sorted.size();) {
    size_t end = i + 1;
    while (end < sorted.size() && sorted[end] == sorted[end - 1] + 1) ++end;
    if (i > 0) out += ", ";
    out += fmt::to_string(sorted[i]);
    if (end - i > 1) out += fmt::format("{}{}", end - i == 2 ? ", " : "-", sorted[end - 1]);
    i = end;
  }
  return out;
}

std::string instruction_place(const Instruction& instruction) {
  std::string out = fmt::format("%{} = {}", instruction.name(), to_string(instruction.opcode()));
  std::span<const Attribute> metadata = instruction.get(attr::metadata);
  std::string_view file = get(metadata, attr::source_file);
  int64_t line = get(metadata, attr::source_line);
  const StackFrames& tables = instruction.parent()->module()->stack_frames();
  auto row = [](const auto& table, int64_t id) {
    return id >= 1 && id <= static_cast<int64_t>(table.size()) ? &table[static_cast<size_t>(id - 1)]
                                                               : nullptr;
  };
  if (const auto* frame = row(tables.frames, get(metadata, attr::stack_frame_id))) {
    if (const auto* location = row(tables.file_locations, frame->file_location_id)) {
      if (const auto* name = row(tables.file_names, location->file_name_id)) file = *name;
      line = location->line;
    }
  }
  if (!file.empty()) out += fmt::format(" at {}:{}", file, line);
  return out;
}

namespace {

std::string path_text(const StrandState& strand) {
  return strand.path.empty() ? "" : fmt::format(" [{}]", fmt::join(strand.path, ", "));
}

// Who waits for whom.
class Waits {
 public:
  Waits(const Mesh& mesh, std::span<const StrandState> strands, Meetings& meetings)
      : strands_(strands), meetings_(meetings) {
    places_.resize(static_cast<size_t>(mesh.device_count()));
    for (const StrandState& strand : strands) {
      for (size_t i = 0; i < strand.devices.size(); ++i) {
        places_[static_cast<size_t>(strand.devices[i])] = {&strand, i};
      }
    }
  }

  /// Where a device is, or null.
  const StrandState* state_of(int device) const {
    return places_[static_cast<size_t>(device)].strand;
  }

  /// The devices that those of a strand wait for and that do not stand where they would meet them.
  std::vector<int> missing(const StrandState& strand) const {
    std::set<int> seen;
    std::vector<int> result;
    std::set<int64_t> groups;
    for (size_t i = 0; i < strand.devices.size(); ++i) {
      if (strand.senders.empty() && !groups.insert(group_of(strand, i)).second) continue;
      for (int device : missing(strand, i)) {
        if (seen.insert(device).second) result.push_back(device);
      }
    }
    return result;
  }

  /// Devices each of which waits for the next, and the last for the first; or empty.
  std::vector<int> find_cycle() {
    std::vector<int> tried(places_.size(), -1);  // from where
    for (const StrandState& strand : strands_) {
      for (int start : strand.devices) {
        std::vector<int> way;
        for (int at = start; at >= 0;) {
          int& from = tried[static_cast<size_t>(at)];
          if (from == start) return {std::ranges::find(way, at), way.end()};
          if (from >= 0) break;
          from = start;
          way.push_back(at);
          const Place& place = places_[static_cast<size_t>(at)];
          at = place.strand && place.strand->at ? first_missing(*place.strand, place.index) : -1;
        }
      }
    }
    return {};
  }

 private:
  struct Place {
    const StrandState* strand = nullptr;
    size_t index = 0;
  };

  int64_t group_of(const StrandState& strand, size_t i) const {
    return (*meetings_.of(*strand.at))->group_of[static_cast<size_t>(strand.devices[i])];
  }

  bool is_missing(const StrandState& strand, int64_t member) const {
    const StrandState* other = state_of(static_cast<int>(member));
    return !other || !other->at || !may_meet(*strand.at, *other->at);
  }

  // Of device number `i` of a strand.
  std::vector<int> missing(const StrandState& strand, size_t i) const {
    std::vector<int> result;
    if (!strand.senders.empty()) {
      if (strand.senders[i] >= 0) result.push_back(strand.senders[i]);
      return result;
    }
    int64_t group = group_of(strand, i);
    if (group < 0) return result;
    for (int64_t member : (*meetings_.of(*strand.at))->group(group)) {
      if (is_missing(strand, member)) result.push_back(static_cast<int>(member));
    }
    return result;
  }

  int first_missing(const StrandState& strand, size_t i) {
    auto first = [&] {
      std::vector<int> devices = missing(strand, i);
      return devices.empty() ? -1 : devices[0];
    };
    if (!strand.senders.empty()) return first();
    auto [found, is_new] = first_.try_emplace({&strand, group_of(strand, i)}, -1);
    if (is_new) found->second = first();
    return found->second;
  }

  std::span<const StrandState> strands_;
  Meetings& meetings_;
  std::vector<Place> places_;
  std::map<std::pair<const StrandState*, int64_t>, int> first_;  // missing, by group
};

}  // namespace

Stop deadlock_report(const Mesh& mesh, std::span<const StrandState> strands, Meetings& meetings) {
  Waits waits(mesh, strands, meetings);
  std::string out = "deadlock: nothing can move\n";
  for (const StrandState& strand : strands) {
    if (!strand.at) continue;
    out += fmt::format("  {} wait{} at {}{}\n", device_list(strand.devices),
                       strand.devices.size() == 1 ? "s" : "", instruction_place(*strand.at),
                       path_text(strand));
    for (int device : waits.missing(strand)) {
      const StrandState* other = waits.state_of(device);
      std::string doing = "is not part of this run";
      if (other && other->at) {
        doing = "waits at " + instruction_place(*other->at) + path_text(*other);
      } else if (other) {
        doing = other->path.empty() ? "has ended" : fmt::format("is {}", other->path.back());
      }
      out += fmt::format("    for {}, which {}\n", device_name(mesh, device), doing);
    }
  }
  std::vector<int> cycle = waits.find_cycle();
  if (!cycle.empty()) {
    out += fmt::format("  the cycle: {} -> {}\n", fmt::join(cycle, " -> "), cycle[0]);
  }
  out.pop_back();
  return {Stop::Kind::kDeadlock, std::move(out), {}};
}

}  // namespace minihlo
