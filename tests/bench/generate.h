// Modules of any size for measurements, made of what XLA writes: the same seed and size give the
// same text.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace minihlo::bench {

struct Generated {
  std::string_view name;
  std::string (*make)(size_t bytes);  // text of at least so many bytes
};

/// The kinds of module: layers in loops with metadata and tables, constants, wide tuples, many
/// small computations.
const std::vector<Generated>& generated_modules();

}  // namespace minihlo::bench
