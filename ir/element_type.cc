#include "ir/element_type.h"

namespace minihlo {

std::optional<ElementType> element_type_from(std::string_view text) {
  for (int i = 0; i < kElementTypeCount; ++i) {
    if (kElementTypes[i].text == text) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

}  // namespace minihlo
