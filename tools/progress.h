// A line on the terminal that says how far a long run is.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace minihlo {

/// While it lives it shows a line where standard error is a terminal, at most twice a second and
/// not before half a second has passed. It leaves nothing behind.
class ProgressLine {
 public:
  /// `text` makes the line from the seconds that have passed, on a thread of its own.
  explicit ProgressLine(std::function<std::string(double seconds)> text);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// Whether somebody may look at it.
  bool is_shown() const { return thread_.joinable(); }

 private:
  void show();

  const std::function<std::string(double)> text_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable wake_;
  bool is_over_ = false;
  std::thread thread_;
};

/// "1200 steps, 3.5 s, 3.0 MiB".
std::string progress_text(int64_t steps, double seconds, int64_t memory);

}  // namespace minihlo
