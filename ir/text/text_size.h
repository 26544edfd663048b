// How long the text of a module is, told without writing it.
#pragma once

#include <cstdint>

#include "ir/module.h"

namespace minihlo {

/// The characters that the shapes of a module's instructions take when they are written, at the
/// least. Tuples of tuples that share their parts are short where they are made, and of any length
/// where they are written; so a few lines may become more than memory holds. A sum that 63 bits
/// don't hold is the greatest they do.
int64_t shape_characters(const Module& module);

/// Modules whose shapes take more are not written.
inline constexpr int64_t kMostShapeCharacters = int64_t{1} << 30;

}  // namespace minihlo
