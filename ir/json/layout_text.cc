#include "ir/json/layout_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace minihlo::internal {
namespace {

// Calls visit(group) with what stands between each pair of parentheses.
template <class Visit>
void each_group(std::string_view text, Visit visit) {
  while (!text.empty()) {
    const size_t open = text.find('(');
    const size_t close = text.find(')', open);
    if (open == text.npos || close == text.npos) return;
    visit(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
}

std::vector<int64_t> numbers(std::string_view list) {
  std::vector<int64_t> values;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    int64_t value = kCombinedDimension;
    if (one != "*") std::from_chars(one.data(), one.data() + one.size(), value);
    values.push_back(value);
    list.remove_prefix(std::min(one.size() + 1, list.size()));
  }
  return values;
}

}  // namespace

std::vector<std::vector<int64_t>> parse_tiling(std::string_view text) {
  std::vector<std::vector<int64_t>> tiles;
  each_group(text, [&](std::string_view group) { tiles.push_back(numbers(group)); });
  return tiles;
}

std::string tiling_text(const std::vector<std::vector<int64_t>>& tiles) {
  if (tiles.empty()) return "";
  std::string text = "T";
  for (const std::vector<int64_t>& tile : tiles) {
    std::vector<std::string> sizes;
    for (int64_t size : tile) {
      sizes.push_back(size == kCombinedDimension ? "*" : fmt::to_string(size));
    }
    text += fmt::format("({})", fmt::join(sizes, ","));
  }
  return text;
}

std::vector<SplitConfig> parse_split_configs(std::string_view text) {
  std::vector<SplitConfig> configs;
  each_group(text, [&](std::string_view group) {
    const size_t colon = std::min(group.find(':'), group.size());
    SplitConfig config;
    std::from_chars(group.data(), group.data() + colon, config.dimension);
    config.indices = numbers(group.substr(std::min(colon + 1, group.size())));
    configs.push_back(std::move(config));
  });
  return configs;
}

std::string split_configs_text(const std::vector<SplitConfig>& configs) {
  if (configs.empty()) return "";
  std::string text = "SC";
  for (const SplitConfig& config : configs) {
    text += fmt::format("({}:{})", config.dimension, fmt::join(config.indices, ","));
  }
  return text;
}

}  // namespace minihlo::internal
