#include "ir/text/unique_names.h"

#include <fmt/format.h>

#include <charconv>

#include "ir/element_type.h"

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

std::string allowed_name(std::string_view name) {
  std::string allowed(name);
  if (name.starts_with("__") && !name.starts_with("__xla_")) allowed[0] = 'a';
  if (element_type_from(name) || name == "token" || name == "opaque") allowed += '_';
  return allowed;
}

bool has_loose_number(std::string_view name) {
  size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  return digits < name.size() && digits > 1 && name[digits - 1] == '.' && name[digits] == '0';
}

}  // namespace minihlo::internal
