// The parts of a layout that the IR keeps as HLO text writes them, as numbers.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/json/fields.h"

namespace minihlo::internal {

/// A tile's dimension that is combined with the next: `*`.
inline constexpr int64_t kCombinedDimension = std::numeric_limits<int64_t>::min();

/// "T(8,128)(2,1)" as lists, and back.
std::vector<std::vector<int64_t>> parse_tiling(std::string_view text);
std::string tiling_text(const std::vector<std::vector<int64_t>>& tiles);

struct SplitConfig {
  int64_t dimension = 0;
  std::vector<int64_t> indices;
};
/// "SC(0:4,8)(1:2)", and back.
std::vector<SplitConfig> parse_split_configs(std::string_view text);
std::string split_configs_text(const std::vector<SplitConfig>& configs);

template <class Fields, Same<SplitConfig> T>
void describe(Fields& fields, T& value) {
  fields("dimension", value.dimension);
  fields("split_indices", value.indices);
}

/// What is a number, a list of numbers or a type in a Layout.
template <class Fields, Same<Layout> T>
void describe_layout_numbers(Fields& fields, T& value) {
  fields("minor_to_major", value.minor_to_major);
  fields("tail_padding_alignment_in_elements", value.tail_padding_alignment, 1);
  fields("index_primitive_type", value.index_type, std::string_view());
  fields("pointer_primitive_type", value.pointer_type, std::string_view());
  fields("element_size_in_bits", value.element_size_in_bits, 0);
  fields("memory_space", value.memory_space, 0);
  fields("dynamic_shape_metadata_prefix_bytes", value.metadata_prefix_bytes, 0);
}

}  // namespace minihlo::internal
