// A checksum of text that is the same on every machine: FNV-1a.
#pragma once

#include <cstdint>
#include <string_view>

namespace minihlo::campaign {

inline constexpr uint64_t kNoChecksum = 0xCBF29CE484222325u;

/// Of what was summed up before, and the text.
inline uint64_t checksum(std::string_view text, uint64_t before = kNoChecksum) {
  for (const char c : text) before = (before ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return before;
}

}  // namespace minihlo::campaign
