// infeed and outfeed: a queue of values into each device, and one out of it.
#pragma once

#include <span>
#include <vector>

#include <tl/expected.hpp>

#include "sim/device_vector.h"
#include "sim/run/inputs.h"
#include "sim/run/kernel.h"

namespace minihlo {

class Feeds {
 public:
  using Array = DeviceVector<Buffer>;

  /// `values`: for each device, or for all alike, the arrays that its infeeds take, one after the
  /// other. Must outlive this.
  Feeds(const Inputs& values, size_t device_count)
      : values_(values), taken_(device_count, 0), given_(device_count) {}

  /// The leaves of an infeed. Stop::kInvalid where nothing is left or what is next does not fit.
  tl::expected<std::vector<Array>, Stop> take(const Instruction& infeed, RunContext& context,
                                              std::span<const int> devices);
  /// What the devices hand to an outfeed: the leaves of its operands.
  tl::expected<void, Stop> put(const Instruction& outfeed, RunContext& context,
                               std::span<const Array* const> leaves, std::span<const int> devices);

  /// For each device the arrays that its outfeeds gave, one after the other.
  std::vector<std::vector<HostTensor>>& given() { return given_; }

 private:
  const Inputs& values_;
  std::vector<size_t> taken_;
  std::vector<std::vector<HostTensor>> given_;
};

}  // namespace minihlo
