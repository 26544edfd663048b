#include "ir/text/unique_names.h"

#include <fmt/format.h>

#include <charconv>

#include "ir/element_type.h"
#include "ir/text/lexer.h"

namespace minihlo::internal {

std::string_view UniqueNames::claim(std::string_view name) {
  std::string_view stem = name;
  int64_t number = 0;
  bool numbered = false;
  size_t dot = name.rfind('.');
  if (dot != name.npos && dot > 0 && dot + 1 < name.size()) {
    const char* end = name.data() + name.size();
    auto [behind, error] = std::from_chars(name.data() + dot + 1, end, number);
    numbered = error == std::errc() && behind == end;
    if (numbered) {
      stem = name.substr(0, dot);
    } else {
      number = 0;
    }
  }
  Numbers& numbers = stems_[stem];
  if (!numbers.used.insert(number).second) {
    while (!numbers.used.insert(numbers.next).second) ++numbers.next;
    number = numbers.next++;
  } else if (number == 0 && !numbered) {
    return name;
  }
  std::string made = fmt::format("{}.{}", stem, number);
  return made == name ? name : module_.keep_name(made);
}

bool is_allowed_name(std::string_view name) {
  // Types are among the reserved words.
  return (!is_reserved_word(name) && !name.starts_with("__")) || allowed_name(name) == name;
}

std::string allowed_name(std::string_view name) {
  std::string allowed(name);
  if (name.starts_with("__") && !name.starts_with("__xla_")) allowed[0] = 'a';
  if (element_type_from(name) || name == "token" || name == "opaque") allowed += '_';
  return allowed;
}

void NameClashes::add_numbered(std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  if (digits < 2 || name[digits - 1] != '.' || name[digits] != '0') return;
  if (digits + 1 == name.size()) {
    zeros_.push_back(name.substr(0, digits - 1));
  } else {
    clash_ = true;  // the number is printed without its leading zeros
  }
}

}  // namespace minihlo::internal
