// What the sharding of one array comes to, in whichever of its forms it is written.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "ir/sharding.h"

namespace minihlo::verifier {

struct Split {
  /// Set where the whole array has one kind, whatever its shape (xla/hlo/ir/hlo_sharding.cc takes
  /// tilings into one tile for that): never kTiled, kTuple or kNamed.
  std::optional<Sharding::Form> whole;
  int64_t device = 0;            // of kMaximal
  std::vector<int64_t> tiles;    // along each dimension
  std::array<int64_t, 3> alike;  // by Sharding::Subgroup: devices that have one tile in common
  int64_t devices = 0;
};

/// Requires a sharding that is not kTuple.
Split split_of(const Sharding& sharding);

/// Whether T(...) orders its axes, where the devices are computed.
bool has_sound_order(const Sharding& sharding);

/// Whether two shardings, neither of them kTuple, split an array alike: into the same tiles, which
/// the same devices have. Devices that would be listed at length count as the same.
bool same_split(const Sharding& a, const Sharding& b);

}  // namespace minihlo::verifier
