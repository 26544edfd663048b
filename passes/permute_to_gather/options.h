// The options of collective-permute-to-all-gather, read once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "passes/pass.h"

namespace minihlo {

struct PermuteToGatherOptions {
  enum class Gate : uint8_t { kAlways, kFallback, kConvertible };
  enum class Fill : uint8_t { kZero, kIdentity };
  enum class Id : uint8_t { kAuto, kReplica, kFlattened };

  /// Which permutes are rewritten: all, those that the predicate calls invalid, the others.
  Gate gate = Gate::kAlways;
  /// What devices hold that no pair targets.
  Fill fill = Fill::kZero;
  /// What the pairs name and what indexes the table.
  Id id = Id::kAuto;
  /// Whether only devices that exchange data gather together.
  bool orbits = false;
  /// The dimension that is gathered and sliced; with `literal_axis` 1 is gathered and 0 sliced.
  int64_t axis = 0;
  bool literal_axis = false;
  /// Whether all that has no option of its own is done as neuronx-cc 2.24 does it: 32-bit tables,
  /// the last of several pairs with one target, zero-sized operands, no scalars.
  bool preset = false;
  /// The number of partitions where the module has neither replicas nor partitions; 0: none.
  int64_t mesh = 0;

  // What the original's constructor takes. Nothing but the log depends on these.
  std::string platform_version;
  int64_t nc_divisor = 1;
  int64_t override_core_count = 0;
};

inline constexpr std::string_view kNeuronPreset = "neuron-2.24";

/// The options as pipelines give them.
inline constexpr OptionInfo kPermuteToGatherOptions[] = {
    {"gate",
     "always",
     "always fallback convertible",
     {},
     "which permutes are rewritten: all valid ones, those that the predicate of the original calls "
     "invalid for the native permute, or the others"},
    {"fill",
     "zero",
     "zero identity",
     {},
     "what a device holds that no pair targets: zeros, or the shard of its own id"},
    {"id",
     "auto",
     "auto replica flattened",
     {},
     "what pairs name and what indexes the table: by the permute's mode; flattened ids and "
     "replica-id; flattened ids and replica * partitions + partition"},
    {"groups",
     "global",
     "global orbits",
     {},
     "who gathers together: everyone, or only devices that exchange data"},
    {"axis", "0", "literal", 0,
     "the dimension that is gathered and sliced; literal: gathers 1 and slices 0, as the original"},
    {"preset",
     "",
     kNeuronPreset,
     {},
     "all that neuronx-cc 2.24 does; options beside it override that part"},
    {"mesh", "0", "", 0,
     "the number of partitions where the module has at most one replica and one partition"},
    {"platform_version", "2.0", "", {}, "the platform for the log (minihlo list platforms)"},
    {"nc_divisor", "1", "", 1, "physical cores per logical core, for the log; of platform 3.0"},
    {"override_core_count", "0", "", 0,
     "cores for the log instead of 128 / nc_divisor; of platform 3.0"},
};

PermuteToGatherOptions read_permute_to_gather_options(const PassOptions& options);

}  // namespace minihlo
