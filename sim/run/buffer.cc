#include "sim/run/buffer.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "sim/run/host_memory.h"

namespace minihlo {
namespace {

static_assert(BufferPool::kAlignment == kArrayAlignment);

// A kept block serves a request if it is larger by no more than a quarter.
constexpr int64_t kSlack = 4;

int64_t rounded(int64_t size) {
  // A size fits 63 bits, but rounding it up might not.
  constexpr int64_t kLargest = INT64_MAX - BufferPool::kAlignment;
  int64_t bytes = std::clamp<int64_t>(size, 1, kLargest);
  return (bytes + BufferPool::kAlignment - 1) / BufferPool::kAlignment * BufferPool::kAlignment;
}

}  // namespace

void Buffer::release() {
  if (block_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  // The block's own handle on the pool must outlive the call.
  std::shared_ptr<BufferPool> pool = std::move(block_->pool);
  pool->give_back(block_);
}

std::shared_ptr<BufferPool> BufferPool::make(int64_t limit) {
  return std::shared_ptr<BufferPool>(new BufferPool(limit));
}

BufferPool::~BufferPool() { drop_kept(); }

void BufferPool::drop_kept() {
  for (auto& [capacity, data] : kept_) {
    give_memory(data, capacity);
    taken_ -= capacity;
  }
  kept_.clear();
}

void BufferPool::count(int64_t bytes) {
  current_ += bytes;
  peak_ = std::max(peak_, current_);
}

tl::expected<Buffer, Stop> BufferPool::allocate(int64_t size, std::string_view what) {
  const int64_t wanted = rounded(size);
  std::lock_guard lock(mutex_);
  auto refuse = [&](std::string_view why) {
    return tl::unexpected(Stop{Stop::Kind::kMemory,
                               fmt::format("{} needs {} more bytes ({}); {} are in use and {} are "
                                           "allowed (--max-memory){}",
                                           what, wanted, bytes_text(wanted), current_, limit_, why),
                               {}});
  };
  std::byte* data = nullptr;
  int64_t capacity = wanted;
  auto kept = kept_.lower_bound(wanted);
  if (kept != kept_.end() && kept->first - wanted <= wanted / kSlack) {
    capacity = kept->first;
    data = kept->second;
    kept_.erase(kept);
  } else {
    if (wanted > limit_ - taken_) drop_kept();
    if (wanted > limit_ - taken_) return refuse("");
    data = take_memory(wanted);
    if (!data) return refuse(", but the system has no more");
    taken_ += wanted;
  }
  auto* block = new internal::Block;
  block->data = data;
  block->size = size;
  block->capacity = capacity;
  block->pool = shared_from_this();
  count(wanted);
  return Buffer(block);
}

Buffer BufferPool::wrap(const std::byte* data, int64_t size, std::shared_ptr<const void> owner) {
  auto* block = new internal::Block;
  block->data = const_cast<std::byte*>(data);
  block->size = size;
  block->owner = std::move(owner);
  block->pool = shared_from_this();
  std::lock_guard lock(mutex_);
  count(rounded(size));
  return Buffer(block);
}

void BufferPool::give_back(internal::Block* block) {
  {
    std::lock_guard lock(mutex_);
    current_ -= rounded(block->size);
    if (block->capacity > 0) kept_.emplace(block->capacity, block->data);
  }
  delete block;
}

int64_t BufferPool::current() const {
  std::lock_guard lock(mutex_);
  return current_;
}
int64_t BufferPool::peak() const {
  std::lock_guard lock(mutex_);
  return peak_;
}
int64_t BufferPool::taken() const {
  std::lock_guard lock(mutex_);
  return taken_;
}

std::string bytes_text(int64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

}  // namespace minihlo
