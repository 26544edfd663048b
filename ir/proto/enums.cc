#include "ir/proto/enums.h"

#include <algorithm>
#include <array>
#include <charconv>

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

std::string to_upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

std::string to_lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

size_t word_count(AttributeId id) {
  std::string_view words = info(id).words;
  return 1 + static_cast<size_t>(std::count(words.begin(), words.end(), ' '));
}

std::optional<int32_t> number_of_word(EnumId type, std::string_view word) {
  const std::string name = to_upper(word);
  if (auto number = value_number(type, name)) return number;
  for (const EnumValue& value : values(type)) {
    if (value.name.ends_with("_" + name)) return value.number;
  }
  return std::nullopt;
}

double shortest_of_float(double value) {
  char digits[40];
  char* end = std::to_chars(digits, digits + sizeof(digits), static_cast<float>(value)).ptr;
  double made = value;
  std::from_chars(digits, end, made);
  return made;
}

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
