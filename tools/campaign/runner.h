// Running a campaign: its cases in blocks, the blocks on threads, their results in order.
//
// A block is a row of cases whose numbers follow one another. Shard i of n takes every n-th block.
// Whatever runs them, the results of blocks are added in the order of their numbers, so that they
// depend neither on threads nor on shards nor on interruptions.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "tools/campaign/case_space.h"
#include "tools/campaign/judge.h"
#include "tools/campaign/tally.h"

namespace minihlo::campaign {

/// Place `index` (from 0) of `count`.
struct Shard {
  int64_t index = 0;
  int64_t count = 1;
};

/// The cases of a space as blocks.
class Blocks {
 public:
  explicit Blocks(const CaseSpace& space);

  int64_t block_size() const { return block_size_; }
  int64_t size() const { return (cases_ + block_size_ - 1) / block_size_; }
  /// How many of them a shard has; and which one is its block `place`.
  int64_t size(const Shard& shard) const {
    return (size() - shard.index + shard.count - 1) / shard.count;
  }
  static int64_t block(const Shard& shard, int64_t place) {
    return shard.index + place * shard.count;
  }
  /// The cases of a block: from `first` to before `end`.
  int64_t first(int64_t block) const { return block * block_size_; }
  int64_t end(int64_t block) const { return std::min(cases_, (block + 1) * block_size_); }
  /// The cases of a shard.
  int64_t case_count(const Shard& shard) const;

 private:
  int64_t cases_;
  int64_t block_size_;
};

/// Adds up blocks in order, and ends with the failure that is one too many.
class Results {
 public:
  Results(const CaseSpace& space, const Judge& judge)
      : space_(space), judge_(judge), blocks_(space), tally_(space.rewrites().size()) {}

  /// The result of one block by itself. It ends behind `max_failures` failures; 0: never. Nothing
  /// when `stop` was set meanwhile. `done` counts cases.
  std::optional<Tally> run_block(int64_t block, int64_t max_failures,
                                 const std::atomic<bool>* stop = nullptr,
                                 std::atomic<int64_t>* done = nullptr) const;

  /// Takes what run_block(block, spec().max_failures) gave. Where with it there are more failures
  /// than there may be the block is run again up to the last one. False: the campaign ends here.
  bool add(int64_t block, const Tally& tally);
  /// Whether it has ended by its failures.
  bool is_cut() const { return is_cut_; }
  const Tally& tally() const { return tally_; }

 private:
  const CaseSpace& space_;
  const Judge& judge_;
  Blocks blocks_;
  Tally tally_;
  bool is_cut_ = false;
};

struct RunSettings {
  Shard shard;
  int threads = 0;  // 0: as many as the machine has
  std::optional<std::chrono::steady_clock::time_point> deadline;
  /// Set from outside, or when the deadline passes: blocks that are not done count for nothing.
  std::atomic<bool>* stop = nullptr;
  /// Cases that are done, for others to look at.
  std::atomic<int64_t>* done = nullptr;
  /// Called with each block of the shard in order, from one thread at a time. Returns what is
  /// wrong, which ends the run, or nothing.
  std::function<std::string(int64_t block, const Tally& tally)> keep;
};

/// Runs the blocks of a shard from its block `place` on, and adds them to the results. Returns what
/// `keep` said, or nothing.
std::string run_blocks(const CaseSpace& space, int64_t place, const RunSettings& settings,
                       Results& results);

}  // namespace minihlo::campaign
