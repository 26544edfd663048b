#include "sim/run/workers.h"

#include <algorithm>
#include <new>
#include <system_error>

namespace minihlo {
namespace {

// Less than this is not worth another thread; a part is at most this, so that the deadline is
// noticed soon.
constexpr int64_t kPartCost = int64_t{1} << 18;

}  // namespace

Workers::Workers(int threads, std::optional<std::chrono::steady_clock::time_point> deadline)
    : threads_(threads > 0 ? std::min(threads, 256)
                           : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()))),
      deadline_(deadline) {}

Workers::~Workers() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Workers::start() {
  try {
    for (int i = 1; i < threads_; ++i) helpers_.emplace_back([this] { serve(); });
  } catch (const std::system_error&) {
    // The system gives no more; those that are there do the work.
  }
}

bool Workers::is_late() {
  if (!late_ && deadline_ && std::chrono::steady_clock::now() > *deadline_) late_ = true;
  return late_;
}

void Workers::fail(Stop reason) {
  std::lock_guard lock(mutex_);
  if (!failure_) failure_ = std::move(reason);
  failed_ = true;
}

std::optional<Stop> Workers::run(std::span<const Work> works) {
  share_out(works);
  if (failed_) {
    std::lock_guard lock(mutex_);
    return failure_;
  }
  if (late_) return Stop{Stop::Kind::kTime, "out of time (--timeout)", {}};
  if (exhausted_) return Stop{Stop::Kind::kMemory, "the system has no more memory", {}};
  return std::nullopt;
}

void Workers::share_out(std::span<const Work> works) {
  parts_.clear();
  for (const Work& work : works) {
    int64_t units = std::max<int64_t>(1, kPartCost / std::max<int64_t>(1, work.cost));
    for (int64_t begin = 0; begin < work.count; begin += std::min(units, work.count - begin)) {
      parts_.push_back({&work, begin, begin + std::min(units, work.count - begin)});
    }
  }
  next_ = 0;
  if (threads_ == 1 || parts_.size() < 2) {
    drain();
    return;
  }
  // Many small works, one a device, are not worth it either.
  int64_t total = 0;
  for (const Part& part : parts_) {
    total += (part.end - part.begin) * std::min(part.work->cost, kPartCost);
    if (total >= kPartCost) break;
  }
  if (total < kPartCost) {
    drain();
    return;
  }
  if (!started_) start();
  started_ = true;
  {
    std::lock_guard lock(mutex_);
    ++round_;
    busy_ = static_cast<int>(helpers_.size());
  }
  wake_.notify_all();
  drain();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return busy_ == 0; });
}

void Workers::drain() {
  for (;;) {
    size_t i = next_.fetch_add(1);
    if (i >= parts_.size() || late_ || exhausted_ || failed_) return;
    if (i > 0 && is_late()) return;
    const Part& part = parts_[i];
    try {
      part.work->body(part.begin, part.end);
    } catch (const std::bad_alloc&) {
      exhausted_ = true;
    }
  }
}

void Workers::serve() {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stopping_ || round_ != seen; });
    if (stopping_) return;
    seen = round_;
    lock.unlock();
    drain();
    lock.lock();
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace minihlo
