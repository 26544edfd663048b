// Values that text and messages lay out in different ways: the labels of a convolution's
// dimensions, the sizes of slices.
#include <numeric>
#include <vector>

#include <fmt/format.h>

#include "ir/dim_labels.h"
#include "ir/proto/attribute_values.h"

namespace minihlo::proto {
namespace {

// One part of the labels: two named dimensions and the spatial ones.
struct Part {
  char first_label, second_label;
  Field first, second, spatial;
  int64_t ConvolutionDims::*first_member, ConvolutionDims::*second_member;
  std::vector<int64_t> ConvolutionDims::*spatial_member;
  std::string_view behind;
};
using Numbers = ConvolutionDims;
constexpr Part kParts[] = {
    {'b', 'f', ConvolutionDimensionNumbers::input_batch_dimension,
     ConvolutionDimensionNumbers::input_feature_dimension,
     ConvolutionDimensionNumbers::input_spatial_dimensions, &Numbers::input_batch,
     &Numbers::input_feature, &Numbers::input_spatial, "_"},
    {'i', 'o', ConvolutionDimensionNumbers::kernel_input_feature_dimension,
     ConvolutionDimensionNumbers::kernel_output_feature_dimension,
     ConvolutionDimensionNumbers::kernel_spatial_dimensions, &Numbers::kernel_input_feature,
     &Numbers::kernel_output_feature, &Numbers::kernel_spatial, "->"},
    {'b', 'f', ConvolutionDimensionNumbers::output_batch_dimension,
     ConvolutionDimensionNumbers::output_feature_dimension,
     ConvolutionDimensionNumbers::output_spatial_dimensions, &Numbers::output_batch,
     &Numbers::output_feature, &Numbers::output_spatial, ""},
};

}  // namespace

bool read_dim_labels(const Message& in, std::string& text) {
  constexpr size_t kMostSpatial = 10;  // each has a digit
  constexpr int64_t kMostDims = 100;
  for (const Part& part : kParts) {
    std::vector<int64_t> spatial;
    if (!in.integers(part.spatial, spatial)) return false;
    if (spatial.size() > kMostSpatial) {
      return in.fail("invalid-dim-labels", part.spatial,
                     fmt::format("there are no labels for {} dimensions", spatial.size()));
    }
    std::string labels(spatial.size() + 2, '?');
    auto label = [&](int64_t dim, char c) {
      if (dim < 0 || dim >= kMostDims) return false;
      const auto place = static_cast<size_t>(dim);
      if (place >= labels.size()) labels.resize(place + 1, '?');
      return labels[place] == '?' && (labels[place] = c, true);
    };
    bool good = label(in.integer(part.first), part.first_label) &&
                label(in.integer(part.second), part.second_label);
    for (size_t i = 0; i < spatial.size(); ++i) {
      good = good && label(spatial[i], static_cast<char>('0' + i));
    }
    if (!good) {
      return in.fail("invalid-dim-labels", part.spatial,
                     "two dimensions have one place, or one has none");
    }
    text += labels;
    text += part.behind;
  }
  return true;
}

bool write_dim_labels(Writer& out, Field field, std::string_view text) {
  auto dims = parse_dim_labels(text);
  if (!dims) return false;
  out.message(field, [&](Writer& inner) {
    for (const Part& part : kParts) {
      inner.integer(part.first, (*dims).*part.first_member);
      inner.integer(part.second, (*dims).*part.second_member);
      inner.integers<int64_t>(part.spatial, (*dims).*part.spatial_member);
    }
  });
  return true;
}

std::span<const std::span<const int64_t>> split_slice_sizes(Arena& arena,
                                                            std::span<Instruction* const> operands,
                                                            std::span<const int64_t> sizes) {
  std::vector<size_t> ranks;
  // What is cut has a few parts. More would take time and memory out of all proportion to the file.
  constexpr int64_t kMostLeaves = 1024;
  constexpr size_t kMostLists = size_t{1} << 20;
  if (!operands.empty() && operands[0]->shape()->leaf_count() <= kMostLeaves) {
    for (const Shape* leaf : leaf_shapes(operands[0]->shape())) {
      ranks.push_back(static_cast<size_t>(leaf->rank()));
    }
  }
  const size_t in_a_round = std::accumulate(ranks.begin(), ranks.end(), size_t{0});
  const bool cuts = in_a_round > 0 && sizes.size() / in_a_round < kMostLists / ranks.size();
  std::vector<std::span<const int64_t>> lists;
  std::span<const int64_t> rest = sizes;
  for (size_t i = 0; cuts && !rest.empty(); i = (i + 1) % ranks.size()) {
    if (ranks[i] > rest.size()) break;
    lists.push_back(rest.first(ranks[i]));
    rest = rest.subspan(ranks[i]);
  }
  if (!rest.empty()) lists.assign(1, sizes);
  return arena.copy(lists);
}

}  // namespace minihlo::proto
