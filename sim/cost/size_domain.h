// The domain of sizes: values are blocks without contents.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "sim/device_vector.h"
#include "sim/plan.h"
#include "sim/walker.h"

namespace minihlo {

/// Bytes of blocks that are alive, now and at most so far.
class SizeCounter {
 public:
  void add(int64_t bytes) {
    current_ += bytes;
    peak_ = std::max(peak_, current_);
  }
  int64_t peak() const {
    return peak_ > std::numeric_limits<int64_t>::max() ? std::numeric_limits<int64_t>::max()
                                                       : static_cast<int64_t>(peak_);
  }

 private:
  // Sizes of all blocks together may go beyond 64 bits.
  __extension__ using Wide = __int128;
  Wide current_ = 0, peak_ = 0;
};

/// A handle on a block of some size; equal handles stand for the same block.
class SizeBlock {
 public:
  SizeBlock() = default;
  enum class Owner : uint8_t { kRun, kOthers };
  SizeBlock(SizeCounter& counter, int64_t bytes, Owner owner = Owner::kRun)
      : counted_(std::make_shared<Counted>(counter, bytes, owner)) {}

  bool is_set() const { return counted_ != nullptr; }
  /// One element that stands for all.
  bool is_splat() const { return is_splat_; }
  int64_t bytes() const { return counted_->bytes; }
  /// Memory of inputs and constants is never written.
  bool is_writable() const { return counted_->owner == Owner::kRun && !is_splat_; }
  int64_t references() const { return counted_.use_count(); }
  const void* identity() const { return counted_.get(); }
  SizeBlock as_splat() const {
    SizeBlock result = *this;
    result.is_splat_ = true;
    return result;
  }
  bool operator==(const SizeBlock&) const = default;

 private:
  struct Counted {
    Counted(SizeCounter& of, int64_t size, Owner who) : counter(of), bytes(size), owner(who) {
      counter.add(bytes);
    }
    ~Counted() { counter.add(-bytes); }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    SizeCounter& counter;
    int64_t bytes;
    Owner owner;
  };

  std::shared_ptr<Counted> counted_;
  bool is_splat_ = false;
};

class SizeDomain {
 public:
  using Array = DeviceVector<SizeBlock>;
  using Val = Value<Array>;
  using Leaves = tl::expected<std::vector<Array>, Stop>;

  SizeDomain(SizeCounter& counter, int64_t cluster_elements)
      : counter_(counter), cluster_elements_(cluster_elements) {}

  // What the walker asks for (sim/walker.h).
  static bool is_set(const Array& array) { return array.is_set(); }
  static Array select(const Array& array, std::span<const int> positions) {
    return array.select(positions);
  }
  static Array join(std::span<const Array* const> parts,
                    std::span<const std::vector<int>> positions, int count) {
    return Array::join(parts, positions, count);
  }
  int64_t cluster_elements() const { return cluster_elements_; }
  static bool is_watched() { return false; }
  static std::optional<Stop> observe(const Instruction&, const Val&, std::span<const int>) {
    return std::nullopt;
  }
  Leaves apply(const Instruction& instruction, std::span<Operand<Array>> operands,
               std::span<const int> devices);
  Leaves apply_cluster(const Cluster& cluster, std::span<Operand<Array>> inputs,
                       std::span<const int> devices);
  Leaves collective(const Instruction& instruction, std::span<const Array> operands,
                    const Gathering& gathering);
  static std::optional<std::vector<int64_t>> known(const Array&) { return std::nullopt; }
  std::optional<tl::expected<Val, Stop>> loop(Walker<SizeDomain>& walker, const Instruction& loop,
                                              Val& state, std::span<const int> devices);
  tl::expected<Val, Stop> conditional(Walker<SizeDomain>& walker, const Instruction& instruction,
                                      const Array& test, std::vector<Val> arguments,
                                      std::span<const int> devices);

 private:
  SizeCounter& counter_;
  const int64_t cluster_elements_;
};

/// The bytes that a block for an array of a shape takes.
int64_t block_bytes(const Shape* shape);

}  // namespace minihlo
