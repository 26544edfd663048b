// Element types of arrays and what is known about each without looking at values.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace minihlo {

enum class ElementType : uint8_t {
#define ELEMENT_TYPE(name, text, bits, kind) name,
#include "ir/element_types.def"
#undef ELEMENT_TYPE
};

enum class ElementKind : uint8_t { kPred, kSigned, kUnsigned, kFloat, kComplex };

struct ElementTypeInfo {
  std::string_view text;
  int bits;   // width of a value, in bits
  int bytes;  // bytes a value takes in memory; sub-byte types take one
  ElementKind kind;
};

inline constexpr ElementTypeInfo kElementTypes[] = {
#define ELEMENT_TYPE(name, text, bits, kind) {text, bits, (bits + 7) / 8, ElementKind::kind},
#include "ir/element_types.def"
#undef ELEMENT_TYPE
};
inline constexpr int kElementTypeCount = sizeof(kElementTypes) / sizeof(kElementTypes[0]);

constexpr const ElementTypeInfo& info(ElementType type) {
  return kElementTypes[static_cast<int>(type)];
}
constexpr std::string_view to_string(ElementType type) { return info(type).text; }

constexpr bool is_float(ElementType type) { return info(type).kind == ElementKind::kFloat; }
constexpr bool is_complex(ElementType type) { return info(type).kind == ElementKind::kComplex; }
constexpr bool is_signed(ElementType type) { return info(type).kind == ElementKind::kSigned; }
constexpr bool is_unsigned(ElementType type) { return info(type).kind == ElementKind::kUnsigned; }
constexpr bool is_integer(ElementType type) { return is_signed(type) || is_unsigned(type); }

/// The element type that HLO text spells `text`, or nothing.
std::optional<ElementType> element_type_from(std::string_view text);

}  // namespace minihlo
