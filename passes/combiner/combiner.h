// Merges collectives of one kind into one of several operands: what the three combiners share.
//
//   %a = f32[4] all-reduce(%x), to_apply=%add        %c = (f32[4], f32[8]) all-reduce(%x, %y), ...
//   %b = f32[8] all-reduce(%y), to_apply=%add   ->   %a' = f32[4] get-tuple-element(%c), index=0
//                                                    %b' = f32[8] get-tuple-element(%c), index=1
//
// Two are merged when they stand in one computation, no path leads from one to the other, and they
// agree in all that they say but for metadata and the like: groups (as lists of devices), mode,
// dimension, reducer, and whether there is a channel. What each result tells of itself (metadata,
// sharding, frontend attributes, ...) goes to the get-tuple-element; the merged collective has the
// first one's channel. Asynchronous forms, and those that devices in other branches may meet, are
// left alone.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "passes/pass.h"

namespace minihlo {

struct CombinerOptions {
  std::string_view pass;
  Opcode opcode;
  int64_t bytes = 0;  // of the operands of a merged one, at most
  int64_t count = 0;  // of the operands of a merged one, at most
};

/// The options that all combiners have: bytes, count.
extern const std::span<const OptionInfo> kCombinerOptions;
CombinerOptions read_combiner_options(std::string_view pass, Opcode opcode,
                                      const PassOptions& options);

/// Merges what can be merged in all computations.
tl::expected<void, std::string> combine_collectives(Module& module, PassContext& context,
                                                    const CombinerOptions& options);

}  // namespace minihlo
