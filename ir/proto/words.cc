#include "ir/proto/words.h"

#include <algorithm>
#include <charconv>

namespace minihlo::proto {

std::string to_upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

size_t word_count(AttributeId id) {
  std::string_view words = info(id).words;
  return 1 + static_cast<size_t>(std::count(words.begin(), words.end(), ' '));
}

std::optional<int32_t> number_of_word(EnumId type, std::string_view word) {
  const std::string name = to_upper(word);
  if (auto number = value_number(type, name)) return number;
  for (const EnumValue& value : values(type)) {
    if (value.name.ends_with("_" + name)) return value.number;
  }
  return std::nullopt;
}

double shortest_of_float(double value) {
  char digits[40];
  char* end = std::to_chars(digits, digits + sizeof(digits), static_cast<float>(value)).ptr;
  double made = value;
  std::from_chars(digits, end, made);
  return made;
}

}  // namespace minihlo::proto
