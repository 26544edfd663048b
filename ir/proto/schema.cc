#include "ir/proto/schema.h"

#include <algorithm>
#include <array>

namespace minihlo::proto {
namespace {

#define FIELD(message, number, name, label, kind)
#define MESSAGE_FIELD(message, number, name, label, type)
#define ENUM_FIELD(message, number, name, label, type)
#define ENUM_VALUE(type, name, number)

constexpr std::string_view kMessageNames[] = {
#define MESSAGE_TYPE(message) #message,
#define ENUM(type)
#include "ir/proto/schema.def"
#undef MESSAGE_TYPE
#undef ENUM
};
constexpr size_t kMessageCount = std::size(kMessageNames);

constexpr std::string_view kEnumNames[] = {
#define MESSAGE_TYPE(message)
#define ENUM(type) #type,
#include "ir/proto/schema.def"
#undef ENUM
};
constexpr size_t kEnumCount = std::size(kEnumNames);

#undef FIELD
#undef MESSAGE_FIELD
#undef ENUM_FIELD
#undef ENUM_VALUE
#define ENUM(type)
#define ENUM_VALUE(type, name, number)

constexpr Field kFields[] = {
#define FIELD(message, number, name, label, kind) message::name,
#define MESSAGE_FIELD(message, number, name, label, type) message::name,
#define ENUM_FIELD(message, number, name, label, type) message::name,
#include "ir/proto/schema.def"
#undef FIELD
#undef MESSAGE_FIELD
#undef ENUM_FIELD
};

constexpr std::string_view kFieldNames[] = {
#define FIELD(message, number, name, label, kind) #name,
#define MESSAGE_FIELD(message, number, name, label, type) #name,
#define ENUM_FIELD(message, number, name, label, type) #name,
#include "ir/proto/schema.def"
#undef ENUM_VALUE
};

#undef FIELD
#undef MESSAGE_FIELD
#undef ENUM_FIELD
#define FIELD(message, number, name, label, kind)
#define MESSAGE_FIELD(message, number, name, label, type)
#define ENUM_FIELD(message, number, name, label, type)

constexpr EnumValue kEnumValues[] = {
#define ENUM_VALUE(type, name, number) {#name, number},
#include "ir/proto/schema.def"
#undef ENUM_VALUE
};
constexpr EnumId kEnumValueTypes[] = {
#define ENUM_VALUE(type, name, number) EnumId::type,
#include "ir/proto/schema.def"
#undef ENUM_VALUE
};

// Where the rows of each message, or enumerated type, begin; one more at the end.
constexpr auto kFieldBegin = [] {
  std::array<uint16_t, kMessageCount + 1> begin{};
  for (const Field& field : kFields) ++begin[static_cast<size_t>(field.message) + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] = begin[i] + begin[i - 1];
  return begin;
}();
constexpr auto kValueBegin = [] {
  std::array<uint16_t, kEnumCount + 1> begin{};
  for (EnumId type : kEnumValueTypes) ++begin[static_cast<size_t>(type) + 1];
  for (size_t i = 1; i < begin.size(); ++i) begin[i] = begin[i] + begin[i - 1];
  return begin;
}();

// The rows of a message follow one another, and its fields are in the order of their numbers.
constexpr bool is_in_order() {
  for (size_t i = 1; i < std::size(kFields); ++i) {
    if (kFields[i].message < kFields[i - 1].message) return false;
    if (kFields[i].message == kFields[i - 1].message &&
        kFields[i].number <= kFields[i - 1].number) {
      return false;
    }
  }
  return true;
}
static_assert(is_in_order());

// For each message and each small number the place of its field among the message's, plus one.
constexpr uint32_t kSmallNumbers = 128;
constexpr auto kFieldPlace = [] {
  std::array<std::array<uint8_t, kSmallNumbers>, kMessageCount> places{};
  for (const Field& field : kFields) {
    if (field.number < kSmallNumbers) {
      places[static_cast<size_t>(field.message)][field.number] = field.index + 1;
    }
  }
  return places;
}();

// A message keeps two words of flags.
constexpr size_t most_fields() {
  size_t most = 0;
  for (size_t i = 0; i < kMessageCount; ++i) {
    most = std::max<size_t>(most, kFieldBegin[i + 1] - kFieldBegin[i]);
  }
  return most;
}
static_assert(most_fields() <= 128);

}  // namespace

std::string_view name(MessageId message) { return kMessageNames[static_cast<size_t>(message)]; }

std::string_view name(Field field) {
  return kFieldNames[kFieldBegin[static_cast<size_t>(field.message)] + field.index];
}

std::span<const Field> fields(MessageId message) {
  const size_t begin = kFieldBegin[static_cast<size_t>(message)];
  return std::span(kFields).subspan(begin, kFieldBegin[static_cast<size_t>(message) + 1] - begin);
}

const Field* find_field(MessageId message, uint32_t number) {
  if (number < kSmallNumbers) {
    const uint8_t place = kFieldPlace[static_cast<size_t>(message)][number];
    return place == 0 ? nullptr : &kFields[kFieldBegin[static_cast<size_t>(message)] + place - 1];
  }
  std::span<const Field> all = fields(message);
  auto found = std::lower_bound(all.begin(), all.end(), number,
                                [](const Field& field, uint32_t n) { return field.number < n; });
  return found != all.end() && found->number == number ? &*found : nullptr;
}

const Field* find_field(MessageId message, std::string_view text) {
  for (const Field& field : fields(message)) {
    if (name(field) == text) return &field;
  }
  return nullptr;
}

std::string_view name(EnumId type) { return kEnumNames[static_cast<size_t>(type)]; }

std::span<const EnumValue> values(EnumId type) {
  const size_t begin = kValueBegin[static_cast<size_t>(type)];
  return std::span(kEnumValues).subspan(begin, kValueBegin[static_cast<size_t>(type) + 1] - begin);
}

std::string_view value_name(EnumId type, int64_t number) {
  for (const EnumValue& value : values(type)) {
    if (value.number == number) return value.name;
  }
  return {};
}

std::optional<int32_t> value_number(EnumId type, std::string_view text) {
  for (const EnumValue& value : values(type)) {
    if (value.name == text) return value.number;
  }
  return std::nullopt;
}

}  // namespace minihlo::proto
