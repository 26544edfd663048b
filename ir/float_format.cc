#include "ir/float_format.h"

#include <cmath>
#include <cstdint>

#include "ir/numbers.h"

namespace minihlo {

int significand_bits(ElementType type) {
  uint64_t bits = 0;
  auto* element = reinterpret_cast<std::byte*>(&bits);
  encode_float(part_of(type), 1, element);
  ++bits;
  // The distance of 1 to what follows it is that of the last bit to the leading one.
  return 1 - std::ilogb(decode_float(part_of(type), element) - 1);
}

}  // namespace minihlo
