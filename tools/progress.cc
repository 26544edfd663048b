#include "tools/progress.h"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "sim/run/buffer.h"
#include "tools/error_output.h"

namespace minihlo {
namespace {

constexpr std::chrono::milliseconds kPause{500};

}  // namespace

std::string progress_text(int64_t steps, double seconds, int64_t memory) {
  return fmt::format("{} steps, {:.1f} s, {}", steps, seconds, bytes_text(memory));
}

ProgressLine::ProgressLine(std::function<std::string(double)> text) : text_(std::move(text)) {
  if (!stderr_is_terminal()) return;
  try {
    thread_ = std::thread([this] { show(); });
  } catch (const std::system_error&) {
    // The system gives no thread; the run goes on without a line.
  }
}

ProgressLine::~ProgressLine() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ProgressLine::show() {
  constexpr std::string_view kClear = "\r\x1b[K";
  bool is_shown = false;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kPause, [this] { return is_over_; })) {
    const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start_;
    print_stderr(fmt::format("{}{}", kClear, text_(time.count())));
    is_shown = true;
  }
  if (is_shown) print_stderr(kClear);
}

}  // namespace minihlo
