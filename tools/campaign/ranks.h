// Processes on several hosts that share one campaign: those of mpirun (the build option mpi).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace minihlo::campaign {

/// The processes that mpirun started, as long as this lives; without it, or in a build without MPI,
/// this one alone. There may be one object in the life of a process.
class Ranks {
 public:
  Ranks();
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  /// Which of them this is, and how many there are.
  int64_t rank() const { return rank_; }
  int64_t count() const { return count_; }

  /// Hands the texts of all to rank 0, by rank; the others get nothing. All have to call it.
  std::vector<std::string> gather(std::string own) const;

 private:
  int64_t rank_ = 0, count_ = 1;
};

}  // namespace minihlo::campaign
