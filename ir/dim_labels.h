// dim_labels=b01f_01io->b01f: where a convolution's operands and result have their dimensions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

namespace minihlo {

/// Positions of dimensions. Spatial dimension k has the digit k in all three parts.
struct ConvolutionDims {
  int64_t input_batch, input_feature;
  std::vector<int64_t> input_spatial;
  int64_t kernel_input_feature, kernel_output_feature;
  std::vector<int64_t> kernel_spatial;
  int64_t output_batch, output_feature;
  std::vector<int64_t> output_spatial;
};

/// Fails unless each part names each of its dimensions once: b, f (i, o) and the digits from 0.
/// `?` takes a position that nothing uses.
tl::expected<ConvolutionDims, std::string> parse_dim_labels(std::string_view text);

}  // namespace minihlo
