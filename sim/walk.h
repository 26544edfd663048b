// Words of the walk that do not depend on the domain: limits, strands in reports, rendezvous.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <tl/expected.hpp>

#include "ir/module.h"
#include "ir/semantics/groups.h"
#include "ir/semantics/mesh.h"
#include "sim/stop.h"

namespace minihlo {

struct WalkLimits {
  int64_t max_steps = std::numeric_limits<int64_t>::max();  // instructions, each once a strand
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::atomic<int64_t>* counter = nullptr;  // where others see the steps so far
};

/// Counts steps, and looks at the clock at each of them where there is a deadline.
class StepCounter {
 public:
  explicit StepCounter(const WalkLimits& limits) : limits_(limits) {}
  /// Nothing while it is within the limits.
  std::optional<Stop> step(int64_t count);
  int64_t steps() const { return steps_; }

 private:
  WalkLimits limits_;
  int64_t steps_ = 0;
};

/// The groups in which devices wait for one another at each collective of a module, worked out at
/// the first question. A collective-permute is attended by all ids of its mode, whether some pair
/// names them or not, as on XLA's CPU backend.
class Meetings {
 public:
  explicit Meetings(const Mesh& mesh) : mesh_(mesh) {}
  tl::expected<const CollectiveGroups*, Stop> of(const Instruction& collective);
  /// Who sends to whom, of a send or recv. Stop::kUnsupported where it does not say.
  tl::expected<const PermuteMap*, Stop> pairs_of(const Instruction& send_or_recv);

 private:
  const Mesh& mesh_;
  std::unordered_map<const Instruction*, CollectiveGroups> groups_;
  std::unordered_map<const Instruction*, PermuteMap> pairs_;
};

/// Devices that run a collective together. Operand vectors are over `devices`, in that order.
struct Gathering {
  std::span<const int> devices;
  const CollectiveGroups& groups;
  std::vector<int> position_of;  // by device; -1: not here (its group isn't either)
};

/// Whether devices at two collectives meet there: the same instruction, or the same channel.
bool may_meet(const Instruction& a, const Instruction& b);
/// What keeps two collectives that meet from being one (opcode, shapes, groups, reducer), or empty.
std::string meeting_conflict(const Instruction& a, const Instruction& b);

/// Where a strand stands, for reports.
struct StrandState {
  std::vector<int> devices;
  const Instruction* at = nullptr;  // the collective it waits at; null: it has ended
  std::vector<std::string> path;    // outermost first: "branch 1 (%no) of %conditional", ...
  std::vector<int> senders;         // at a recv-done: for each device whose data it lacks, or -1
};

/// "device 3 (replica 1, partition 1)".
std::string device_name(const Mesh& mesh, int64_t device);
/// "devices 0-2, 5".
std::string device_list(std::span<const int> devices);
/// "%name = opcode at file:line", as far as metadata or stack frames tell.
std::string instruction_place(const Instruction& instruction);

/// The report of a deadlock: who waits where for whom, what those do instead, and the cycle or the
/// missing arrival.
Stop deadlock_report(const Mesh& mesh, std::span<const StrandState> strands, Meetings& meetings);

}  // namespace minihlo
