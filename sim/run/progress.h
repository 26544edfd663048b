// How far a run is, for others to look at meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "sim/run/buffer.h"

namespace minihlo {

/// Thread-safe. Runs that follow one another may share it: the last one counts.
class RunProgress {
 public:
  /// Instructions that were run, each once a strand.
  int64_t steps() const { return steps_.load(std::memory_order_relaxed); }
  /// Bytes of values in use.
  int64_t memory() const {
    std::lock_guard lock(mutex_);
    return pool_ ? pool_->current() : 0;
  }

  /// For the run: where its steps are counted.
  std::atomic<int64_t>* counter() { return &steps_; }
  void watch(std::shared_ptr<const BufferPool> pool) {
    std::lock_guard lock(mutex_);
    pool_ = std::move(pool);
  }

 private:
  std::atomic<int64_t> steps_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const BufferPool> pool_;
};

}  // namespace minihlo
