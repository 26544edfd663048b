#include "passes/permute_to_gather/platforms.h"

namespace minihlo {
namespace {

constexpr Platform kPlatforms[] = {
#define PLATFORM(name, version, instance, cores, divided) {name, version, instance, cores, divided},
#include "data/platforms.def"
#undef PLATFORM
};

}  // namespace

std::span<const Platform> platforms() { return kPlatforms; }

const Platform& platform_of(std::string_view version) {
  for (const Platform& platform : kPlatforms) {
    if (platform.version == version) return platform;
  }
  return kPlatforms[0];
}

int64_t core_count(const Platform& platform, int64_t divisor, int64_t override_count) {
  if (!platform.is_divided) return platform.cores;
  return override_count > 0 ? override_count : platform.cores / divisor;
}

}  // namespace minihlo
