#include "tools/campaign/runner.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace minihlo::campaign {
namespace {

// Cases of a block: so many that handing out blocks costs nothing beside them, so few that nobody
// waits long for the last one. External commands take a thousand times as long.
constexpr int64_t kBlockSize = 256;
constexpr int64_t kExternalBlockSize = 16;
// How many blocks may be done before the next one in order is, for each thread.
constexpr int64_t kAhead = 64;

class BlockRun {
 public:
  BlockRun(const CaseSpace& space, int64_t place, const RunSettings& settings, Results& results)
      : settings_(settings),
        max_failures_(space.spec().max_failures),
        results_(results),
        count_(Blocks(space).size(settings.shard)),
        next_(place),
        merged_(place) {}

  std::string run() {
    int64_t threads = settings_.threads > 0
                          ? settings_.threads
                          : static_cast<int64_t>(std::thread::hardware_concurrency());
    threads = std::clamp<int64_t>(threads, 1, std::max<int64_t>(count_ - next_, 1));
    ahead_ = threads * kAhead;
    std::vector<std::thread> helpers;
    try {
      while (static_cast<int64_t>(helpers.size()) + 1 < threads) {
        helpers.emplace_back([this] { work(); });
      }
    } catch (const std::system_error&) {
      // The system gives no more threads; those that are there do all.
    }
    work();
    for (std::thread& helper : helpers) helper.join();
    return wrong_;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [&] { return is_over() || next_ >= count_ || next_ < merged_ + ahead_; });
      if (is_over() || next_ >= count_) return;
      const int64_t place = next_++;
      const int64_t block = Blocks::block(settings_.shard, place);
      lock.unlock();
      std::optional<Tally> tally =
          results_.run_block(block, max_failures_, settings_.stop, settings_.done);
      lock.lock();
      if (settings_.deadline && std::chrono::steady_clock::now() > *settings_.deadline) {
        *settings_.stop = true;
      }
      if (tally) finished_.emplace(place, *std::move(tally));
      merge();
      room_.notify_all();
    }
  }

  bool is_over() const { return is_ended_ || (settings_.stop && *settings_.stop); }

  void merge() {
    while (!is_ended_ && !finished_.empty() && finished_.begin()->first == merged_) {
      const Tally tally = std::move(finished_.begin()->second);
      finished_.erase(finished_.begin());
      const int64_t block = Blocks::block(settings_.shard, merged_++);
      if (settings_.keep) wrong_ = settings_.keep(block, tally);
      is_ended_ = !wrong_.empty() || !results_.add(block, tally);
    }
  }

  const RunSettings& settings_;
  const int64_t max_failures_;
  Results& results_;
  const int64_t count_;
  int64_t ahead_ = kAhead;
  std::mutex mutex_;
  std::condition_variable room_;
  int64_t next_, merged_;  // places in the shard
  std::map<int64_t, Tally> finished_;
  bool is_ended_ = false;
  std::string wrong_;
};

}  // namespace

Blocks::Blocks(const CaseSpace& space)
    : cases_(space.size()),
      block_size_(space.spec().rewrite_with.empty() ? kBlockSize : kExternalBlockSize) {}

int64_t Blocks::case_count(const Shard& shard) const {
  const int64_t own = size(shard);
  if (own == 0) return 0;
  const int64_t last = block(shard, own - 1);
  return (own - 1) * block_size_ + end(last) - first(last);
}

std::optional<Tally> Results::run_block(int64_t block, int64_t max_failures,
                                        const std::atomic<bool>* stop,
                                        std::atomic<int64_t>* done) const {
  Tally tally(space_.rewrites().size());
  int64_t failures = 0;
  for (int64_t number = blocks_.first(block); number < blocks_.end(block); ++number) {
    const CampaignCase one = space_.at(number);
    const Outcome outcome = judge_.judge(one);
    if (stop && *stop) return std::nullopt;
    if (done) done->fetch_add(1, std::memory_order_relaxed);
    const bool is_expected = space_.expectation().meets(one, outcome.kind);
    tally.add(one, outcome, is_expected, space_.spec().show_failures);
    if (!is_expected && ++failures == max_failures) break;
  }
  return tally;
}

bool Results::add(int64_t block, const Tally& tally) {
  const int64_t most = space_.spec().max_failures;
  const int64_t left = most - tally_.failure_count();
  const int64_t own = most > 0 ? tally.failure_count() : 0;
  is_cut_ = most > 0 && own >= left;
  const bool is_too_long = is_cut_ && own > left;
  const std::optional<Tally> shorter = is_too_long ? run_block(block, left) : std::nullopt;
  tally_.add(shorter ? *shorter : tally, space_.spec().show_failures);
  return !is_cut_;
}

std::string run_blocks(const CaseSpace& space, int64_t place, const RunSettings& settings,
                       Results& results) {
  return BlockRun(space, place, settings, results).run();
}

}  // namespace minihlo::campaign
