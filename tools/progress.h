// A line on the terminal that says how far a long run is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "sim/run/progress.h"

namespace minihlo {

/// While it lives it shows, where standard error is a terminal, steps, time and memory of a run, at
/// most twice a second and not before half a second has passed. It leaves nothing behind.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// What runs keep up to date; nothing where no line is shown.
  RunProgress* progress() { return thread_.joinable() ? &progress_ : nullptr; }

 private:
  void show();

  RunProgress progress_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;
  std::thread thread_;
};

/// "1200 steps, 3.5 s, 3.0 MiB".
std::string progress_text(int64_t steps, double seconds, int64_t memory);

}  // namespace minihlo
