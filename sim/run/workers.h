// Threads that share out the parts of one piece of work.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "sim/stop.h"

namespace minihlo {

/// `count` units that may be done in any order, in any grouping, at the same time.
struct Work {
  int64_t count = 0;
  int64_t cost = 1;  // of a unit, roughly in bytes touched or operations
  std::function<void(int64_t begin, int64_t end)> body;
};

/// Runs work on a fixed number of threads, the caller's among them. The others are started when
/// there is enough to do for the first time.
class Workers {
 public:
  /// `threads` <= 0: as many as the machine has.
  explicit Workers(int threads, std::optional<std::chrono::steady_clock::time_point> deadline = {});
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int thread_count() const { return threads_; }

  /// Does all of it. Stop::kTime when the deadline passed before the end, Stop::kMemory when the
  /// system had no more memory for what a part needed for itself, and what a body failed with.
  std::optional<Stop> run(std::span<const Work> works);

  /// Whether the deadline has passed: bodies with much to do in one unit ask now and then, and
  /// give up.
  bool is_late();
  /// Says from within a body that the work can't be done: the run ends with the first such reason.
  void fail(Stop reason);
  std::optional<std::chrono::steady_clock::time_point> deadline() const { return deadline_; }

 private:
  struct Part {
    const Work* work;
    int64_t begin, end;
  };
  void share_out(std::span<const Work> works);
  void drain();
  void serve();
  void start();

  const int threads_;
  const std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::vector<std::thread> helpers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<Part> parts_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> late_{false};
  std::atomic<bool> exhausted_{false};
  std::atomic<bool> failed_{false};
  std::optional<Stop> failure_;  // guarded by mutex_
  uint64_t round_ = 0;
  int busy_ = 0;
  bool started_ = false;
  bool stopping_ = false;
};

/// For bodies with much to do in one unit: looks at the clock now and then.
class LateCheck {
 public:
  explicit LateCheck(Workers& workers) : workers_(workers) {}
  /// Whether the body should give up, to be asked after so many more operations.
  bool operator()(int64_t operations) {
    done_ += operations;
    if (done_ < kOperations) return false;
    done_ = 0;
    return workers_.is_late();
  }

 private:
  static constexpr int64_t kOperations = int64_t{1} << 20;

  Workers& workers_;
  int64_t done_ = 0;
};

}  // namespace minihlo
