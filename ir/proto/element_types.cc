#include "ir/proto/element_types.h"

#include <array>
#include <string>

namespace minihlo::proto {
namespace {

struct Row {
  int32_t number;
  const Field* literal;
};

const std::array<Row, kElementTypeCount>& rows() {
  static const auto table = [] {
    constexpr std::string_view kNames[] = {
#define ELEMENT_TYPE(name, text, bits, kind) #name,
#include "ir/element_types.def"
#undef ELEMENT_TYPE
    };
    std::array<Row, kElementTypeCount> made{};
    for (size_t i = 0; i < made.size(); ++i) {
      made[i].number = primitive_type(kNames[i]);
      made[i].literal =
          find_field(MessageId::LiteralProto, std::string(kElementTypes[i].text) + 's');
    }
    return made;
  }();
  return table;
}

}  // namespace

int32_t primitive_type(ElementType type) { return rows()[static_cast<size_t>(type)].number; }

int32_t primitive_type(std::string_view name) {
  return value_number(EnumId::PrimitiveType, name).value_or(0);
}

std::optional<ElementType> element_type(int64_t primitive_type) {
  for (size_t i = 0; i < rows().size(); ++i) {
    if (rows()[i].number == primitive_type) return static_cast<ElementType>(i);
  }
  return std::nullopt;
}

Field literal_field(ElementType type) { return *rows()[static_cast<size_t>(type)].literal; }

}  // namespace minihlo::proto
