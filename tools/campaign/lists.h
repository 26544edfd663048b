// Lists and ranges as options of a campaign write them.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace minihlo::campaign {

/// The parts between separators; of an empty text one, which is empty.
inline std::vector<std::string_view> split_list(std::string_view text, char separator = ',') {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// A whole number that is not negative, and nothing else.
inline std::optional<int64_t> parse_count(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

struct CountRange {
  int64_t first = 0, last = 0;
  int64_t size() const { return last - first + 1; }
};
/// "3", or "2..512", where the first is not above the last.
inline std::optional<CountRange> parse_range(std::string_view text) {
  const size_t dots = text.find("..");
  const std::optional<int64_t> first = parse_count(text.substr(0, dots));
  const std::optional<int64_t> last =
      dots == text.npos ? first : parse_count(text.substr(dots + 2));
  if (!first || !last || *first > *last) return std::nullopt;
  return CountRange{*first, *last};
}

}  // namespace minihlo::campaign
