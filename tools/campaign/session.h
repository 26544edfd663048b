// A shard of a campaign, run by this process and the others of mpirun, with a journal.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "tools/campaign/case_space.h"
#include "tools/campaign/judge.h"
#include "tools/campaign/ranks.h"
#include "tools/campaign/runner.h"

namespace minihlo::campaign {

struct SessionSettings {
  Shard shard;
  int threads = 0;      // of each process; 0: as many as the machine has
  std::string journal;  // a path, to which each of several processes adds .RANK; empty: none
  bool resume = false;
  std::optional<std::chrono::steady_clock::time_point> deadline;
  std::atomic<bool>* stop = nullptr;
};

/// Cases that this process does, for others to look at.
struct SessionProgress {
  std::atomic<int64_t> done = 0;
  std::atomic<int64_t> before = 0, all = 0;  // done before, by the journal; and all of them

  /// "12345 of 1441729 cases, 23456 a second, 61 s left".
  std::string text(double seconds) const;
};

/// Runs the shard and adds it to `results`, of rank 0; on the others they are of no use. Returns
/// what went wrong in this process, or nothing. Whatever goes wrong, all processes come to its end.
std::string run_session(const CaseSpace& space, const Judge& judge, const SessionSettings& settings,
                        const Ranks& ranks, SessionProgress& progress, Results& results);

}  // namespace minihlo::campaign
