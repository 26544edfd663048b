#include "tools/command.h"

#include <cstdio>

#include <fmt/format.h>

namespace minihlo {

void print_stderr(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); }

void print_error(std::string_view message) {
  print_stderr(fmt::format("minihlo: error: {}\n", message));
}

}  // namespace minihlo
