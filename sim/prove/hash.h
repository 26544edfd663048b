// Hashes of what terms are made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "sim/prove/tensor.h"

namespace minihlo::prove {

/// The hash of a sequence that has `hash` so far and goes on with `value`.
inline size_t mix(size_t hash, size_t value) {
  hash ^= value + 0x9E3779B97F4A7C15u + (hash << 6) + (hash >> 2);
  return hash * 0xFF51AFD7ED558CCDu;
}

inline size_t mix(size_t hash, Handle handle) {
  return mix(hash, (size_t{handle.node} << 32) | static_cast<uint32_t>(handle.device));
}

inline size_t mix(size_t hash, std::span<const std::byte> bytes) {
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return mix(hash, std::hash<std::string_view>()(text));
}

}  // namespace minihlo::prove
