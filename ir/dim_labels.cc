#include "ir/dim_labels.h"

#include <fmt/format.h>

namespace minihlo {
namespace {

struct Part {
  int64_t first = -1;   // b or i
  int64_t second = -1;  // f or o
  std::vector<int64_t> spatial;
};

// False where `text` is not made of `first`, `second` and the digits from 0, each once.
bool parse_part(std::string_view text, char first, char second, Part& part) {
  int64_t digits[10];
  for (int64_t& position : digits) position = -1;
  int64_t spatial = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '?') continue;
    int64_t* place = c == first               ? &part.first
                     : c == second            ? &part.second
                     : (c >= '0' && c <= '9') ? &digits[c - '0']
                                              : nullptr;
    if (!place || *place >= 0) return false;
    *place = static_cast<int64_t>(i);
    spatial += c >= '0' && c <= '9';
  }
  part.spatial.assign(digits, digits + spatial);
  if (part.first < 0 || part.second < 0) return false;
  for (int64_t position : part.spatial) {
    if (position < 0) return false;
  }
  return true;
}

}  // namespace

tl::expected<ConvolutionDims, std::string> parse_dim_labels(std::string_view text) {
  const size_t underscore = text.find('_');
  const size_t arrow = text.find("->");
  Part input, kernel, output;
  if (underscore == text.npos || arrow == text.npos || arrow < underscore ||
      !parse_part(text.substr(0, underscore), 'b', 'f', input) ||
      !parse_part(text.substr(underscore + 1, arrow - underscore - 1), 'i', 'o', kernel) ||
      !parse_part(text.substr(arrow + 2), 'b', 'f', output)) {
    return tl::make_unexpected(
        fmt::format("dim_labels={} must name b and f (i and o) and the digits from 0 once in each "
                    "part, as in b01f_01io->b01f",
                    text));
  }
  if (input.spatial.size() != kernel.spatial.size() ||
      input.spatial.size() != output.spatial.size()) {
    return tl::make_unexpected(
        fmt::format("dim_labels={} has parts with different numbers of spatial dimensions", text));
  }
  return ConvolutionDims{input.first,  input.second,  std::move(input.spatial),
                         kernel.first, kernel.second, std::move(kernel.spatial),
                         output.first, output.second, std::move(output.spatial)};
}

}  // namespace minihlo
