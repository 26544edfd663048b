// How an instruction's value is split over devices: sharding={...} in all forms that XLA writes
// (xla/hlo/ir/hlo_sharding.cc, named_sharding.cc). The simulator takes it as advice only.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "ir/device_groups.h"

namespace minihlo {

struct Attribute;

struct Sharding {
  enum class Form : uint8_t {
    kReplicated,
    kManual,
    kUnknown,
    kUnreduced,
    kMaximal,  // on `device` alone
    kTiled,    // devices=[2,2]0,1,2,3 or devices=[2,4]<=[8]
    kTuple,    // one a leaf
    kNamed,    // mesh['x'=2], [{'x'}, {}]
  };
  enum class Subgroup : uint8_t { kReplicated, kManual, kUnreduced };
  enum class ShardGroup : uint8_t { kNone, kAs, kLike };

  Form form = Form::kReplicated;
  int64_t device = 0;                          // kMaximal
  std::span<const int64_t> tile_dims;          // kTiled
  std::span<const int64_t> devices;            // kTiled, listed; empty where `iota` is set
  const IotaOrder* iota = nullptr;             // kTiled, computed
  bool replicate_last = false;                 // last_tile_dim_replicate
  std::span<const Subgroup> last_tile_dims;    // last_tile_dims={manual, replicated}
  ShardGroup shard_group = ShardGroup::kNone;  // shard_as N, shard_like N
  int64_t shard_group_id = 0;
  std::span<const Sharding* const> elements;  // kTuple
  const DeviceMesh* mesh = nullptr;           // kNamed
  std::string_view named;                     // kNamed: what stands behind the mesh, as written
  std::span<const std::span<const Attribute>> metadata;
  bool metadata_list = false;  // written as a list {{...},{...}}
};

}  // namespace minihlo
