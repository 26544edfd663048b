// The opcode rng: numbers that HLO leaves open, fixed here by seed, device, instruction and trip.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "sim/device_vector.h"
#include "sim/run/kernel.h"

namespace minihlo {

/// Draws the numbers of rng instructions. What a device gets depends on the seed of the run, its
/// flattened id, the instruction's place in the module, and how often the device was there before.
///   rng_uniform  in [a, b), of pred either; a where there is nothing between
///   rng_normal   mean a, standard deviation b; complex: both parts
class RandomNumbers {
 public:
  tl::expected<DeviceVector<Buffer>, Stop> draw(const Instruction& rng, RunContext& context,
                                                const DeviceVector<Buffer>& a,
                                                const DeviceVector<Buffer>& b,
                                                std::span<const int> devices);

 private:
  std::map<std::pair<const Instruction*, int>, uint64_t> times_;
};

}  // namespace minihlo
