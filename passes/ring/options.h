// Options that the passes which make rings share.
#pragma once

#include "passes/pass.h"
#include "passes/ring/ring_collectives.h"

namespace minihlo {

inline constexpr OptionInfo kRingForm = {
    .name = "form",
    .default_value = "loop",
    .words = "loop unrolled",
    .minimum = {},
    .help = "a while loop, or all steps one behind the other",
};
inline constexpr OptionInfo kRingDirections = {
    .name = "directions",
    .default_value = "1",
    .words = "1 2",
    .minimum = {},
    .help = "send round the ring one way, or both ways at once",
};
inline constexpr OptionInfo kRingOrder = {
    .name = "order",
    .default_value = "group",
    .words = "group ring",
    .minimum = {},
    .help = "combine in the order of the group, bit for bit, or in that in which data comes round",
};

inline bool is_unrolled(const PassOptions& options) { return options.text("form") == "unrolled"; }
inline bool goes_both_ways(const PassOptions& options) { return options.text("directions") == "2"; }
inline RingSum read_ring_sum(const PassOptions& options) {
  return {goes_both_ways(options), options.text("order") == "group"};
}
/// What is wrong with these together, or nothing.
inline tl::expected<void, std::string> check(const RingSum& how) {
  if (!how.both_directions || !how.in_group_order) return {};
  return tl::make_unexpected("directions=2 needs order=ring: the order of the group goes one way");
}

}  // namespace minihlo
