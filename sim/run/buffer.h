// Memory of a run: immutable blocks of bytes behind counted handles, and the pool that they come
// from and go back to.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "sim/stop.h"

namespace minihlo {

class BufferPool;

namespace internal {
struct Block {
  std::atomic<int64_t> references{1};
  std::byte* data = nullptr;
  int64_t size = 0;                   // bytes asked for
  int64_t capacity = 0;               // bytes taken from the system; 0: foreign memory
  std::shared_ptr<const void> owner;  // of foreign memory
  std::vector<int64_t> sizes;         // of the array, where run time says them
  std::shared_ptr<BufferPool> pool;
};
}  // namespace internal

/// A handle on a block: the elements of an array in row-major order, stored as in a Literal. Two
/// handles are equal when they stand for the same block. Handles may be copied and dropped by
/// several threads; the bytes may be written only by who holds the only handle.
class Buffer {
 public:
  Buffer() = default;
  Buffer(const Buffer& other) : block_(other.block_), is_splat_(other.is_splat_) {
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  Buffer(Buffer&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)), is_splat_(other.is_splat_) {}
  Buffer& operator=(Buffer other) noexcept {
    std::swap(block_, other.block_);
    std::swap(is_splat_, other.is_splat_);
    return *this;
  }
  ~Buffer() {
    if (block_) release();
  }

  bool is_set() const { return block_ != nullptr; }
  const std::byte* data() const { return block_->data; }
  /// The bytes of the block: of all elements, or of one where it is a splat.
  int64_t size() const { return block_->size; }
  /// Whether the one element in the block stands for all elements of the array.
  bool is_splat() const { return is_splat_; }
  /// The same block, its first element standing for all.
  Buffer as_splat() const {
    Buffer result = *this;
    result.is_splat_ = true;
    return result;
  }
  Buffer as_dense() const {
    Buffer result = *this;
    result.is_splat_ = false;
    return result;
  }

  /// The sizes of an array of a dynamic shape (see sim/run/dynamic_shapes.h); empty for others.
  std::span<const int64_t> sizes() const { return block_->sizes; }
  /// For the one that holds the only handle.
  void set_sizes(std::span<const int64_t> sizes) {
    block_->sizes.assign(sizes.begin(), sizes.end());
  }

  /// How many handles there are on the block.
  int64_t reference_count() const { return block_->references.load(std::memory_order_acquire); }
  /// Whether the block may be written once its `references` handles are given up.
  bool is_writable(int64_t references) const {
    return block_->capacity > 0 && !is_splat_ && reference_count() == references;
  }
  /// Whether the bytes are memory that nobody keeps alive for the handle.
  bool is_borrowed() const { return block_->capacity == 0 && !block_->owner; }
  /// For the one that fills a fresh block or takes over one that is_writable().
  std::byte* mutable_data() { return block_->data; }

  /// An address that is the block's own, for hashing.
  const void* identity() const { return block_; }
  bool operator==(const Buffer& other) const {
    return block_ == other.block_ && is_splat_ == other.is_splat_;
  }

 private:
  friend class BufferPool;
  explicit Buffer(internal::Block* block) : block_(block) {}
  void release();

  internal::Block* block_ = nullptr;
  bool is_splat_ = false;
};

/// Hands out blocks, counts their bytes and keeps freed ones for the next request: a page that was
/// touched before costs a fraction of a fresh one. Thread-safe. Blocks keep their pool alive.
class BufferPool : public std::enable_shared_from_this<BufferPool> {
 public:
  static constexpr int64_t kAlignment = 64;

  /// `limit`: bytes that blocks may take together, kept ones included.
  static std::shared_ptr<BufferPool> make(int64_t limit);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  /// A block of `size` bytes with no particular contents, or Stop::Kind::kMemory before memory is
  /// taken. `what` names in the message what it was for.
  tl::expected<Buffer, Stop> allocate(int64_t size, std::string_view what);
  /// A handle on memory that others own; never written. Counted, but held against no limit.
  Buffer wrap(const std::byte* data, int64_t size, std::shared_ptr<const void> owner);

  /// Bytes of blocks that are in use, each rounded up to the alignment, now and at most so far.
  int64_t current() const;
  int64_t peak() const;
  int64_t limit() const { return limit_; }
  /// Bytes taken from the system for blocks, in use or kept.
  int64_t taken() const;

 private:
  friend class Buffer;
  explicit BufferPool(int64_t limit) : limit_(limit) {}
  void give_back(internal::Block* block);
  void count(int64_t bytes);
  void drop_kept();

  mutable std::mutex mutex_;
  const int64_t limit_;
  int64_t current_ = 0;
  int64_t peak_ = 0;
  int64_t taken_ = 0;
  std::multimap<int64_t, std::byte*> kept_;  // by capacity
};

/// "3.0 MiB", for messages.
std::string bytes_text(int64_t bytes);

}  // namespace minihlo
