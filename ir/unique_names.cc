#include "ir/unique_names.h"

#include <charconv>
#include <string>

#include <fmt/format.h>

namespace minihlo {

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
  return made == name ? name : arena_.copy_string(made);
}

}  // namespace minihlo
