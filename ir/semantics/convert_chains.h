// What converting twice comes to.
#pragma once

#include "ir/element_type.h"

namespace minihlo {

/// Whether all values of `from`, which is not complex, are values of `to`: converting there keeps
/// them, zeros and infinities too, and NaN up to their bits.
bool holds_values(ElementType from, ElementType to);

/// Whether converting to `to` first changes nothing of what a further conversion to `result` gives,
/// bit for bit.
bool converts_through(ElementType from, ElementType to, ElementType result);

}  // namespace minihlo
