// The platforms of the Neuron compiler (data/platforms.def), and how many cores it takes them for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace minihlo {

struct Platform {
  std::string_view name;
  std::string_view version;
  std::string_view instance;
  int64_t cores;
  bool is_divided;  // into cores of several physical ones
};

std::span<const Platform> platforms();

/// The platform of a version; the first where there is none.
const Platform& platform_of(std::string_view version);

/// The cores that the original's constructor works out: of a divided platform `override` if
/// positive, else its cores by `divisor` (which is positive); of others all of them.
int64_t core_count(const Platform& platform, int64_t divisor, int64_t override_count);

}  // namespace minihlo
