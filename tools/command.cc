#include "tools/command.h"

#include <fmt/format.h>

namespace minihlo {

void print_error(std::string_view message) { fmt::print(stderr, "minihlo: error: {}\n", message); }

}  // namespace minihlo
