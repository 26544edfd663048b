// What is known of the messages that hold an HLO module (ir/proto/schema.def).
//
// Every field is a constant that is named as it is in the message:
//
//   in.integer(HloModuleProto::entry_computation_id)
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace minihlo::proto {

enum class FieldKind : uint8_t {
  kInt32,
  kInt64,
  kUint32,
  kUint64,
  kBool,
  kEnum,
  kFloat,
  kDouble,
  kString,
  kBytes,
  kMessage
};

enum class Label : uint8_t { kSingle, kRepeated };

enum class MessageId : uint8_t {
#define MESSAGE_TYPE(message) message,
#define FIELD(message, number, name, label, kind)
#define MESSAGE_FIELD(message, number, name, label, type)
#define ENUM_FIELD(message, number, name, label, type)
#define ENUM(type)
#define ENUM_VALUE(type, name, number)
#include "ir/proto/schema.def"
#undef MESSAGE_TYPE
#undef ENUM
};

enum class EnumId : uint8_t {
#define MESSAGE_TYPE(message)
#define ENUM(type) type,
#include "ir/proto/schema.def"
#undef MESSAGE_TYPE
#undef FIELD
#undef MESSAGE_FIELD
#undef ENUM_FIELD
#undef ENUM
#undef ENUM_VALUE
};

/// A field of a message.
struct Field {
  MessageId message;
  uint8_t index;  // among the fields of its message
  uint16_t number;
  FieldKind kind;
  Label label;
  uint8_t type;  // the MessageId or EnumId, where kind says that there is one

  bool is_repeated() const { return label == Label::kRepeated; }
  MessageId message_type() const { return static_cast<MessageId>(type); }
  EnumId enum_type() const { return static_cast<EnumId>(type); }
  bool operator==(const Field&) const = default;
};

namespace internal {
// Fields are counted anew in each message: its first one has the value behind `_reset`.
enum FieldNumber : int16_t {
#define MESSAGE_TYPE(message) message##_begin, message##_reset = message##_begin - 1,
#define FIELD(message, number, name, label, kind) message##__##name,
#define MESSAGE_FIELD(message, number, name, label, type) message##__##name,
#define ENUM_FIELD(message, number, name, label, type) message##__##name,
#define ENUM(type)
#define ENUM_VALUE(type, name, number)
#include "ir/proto/schema.def"
#undef MESSAGE_TYPE
#undef FIELD
#undef MESSAGE_FIELD
#undef ENUM_FIELD
};
}  // namespace internal

#define MESSAGE_TYPE(message)
#define MINIHLO_FIELD(message, number, name, label, kind, type)                        \
  namespace message {                                                                  \
  inline constexpr Field name{MessageId::message,                                      \
                              internal::message##__##name - internal::message##_begin, \
                              number,                                                  \
                              FieldKind::kind,                                         \
                              Label::label,                                            \
                              static_cast<uint8_t>(type)};                             \
  }
#define FIELD(message, number, name, label, kind) \
  MINIHLO_FIELD(message, number, name, label, kind, 0)
#define MESSAGE_FIELD(message, number, name, label, type) \
  MINIHLO_FIELD(message, number, name, label, kMessage, MessageId::type)
#define ENUM_FIELD(message, number, name, label, type) \
  MINIHLO_FIELD(message, number, name, label, kEnum, EnumId::type)
#include "ir/proto/schema.def"
#undef MESSAGE_TYPE
#undef MINIHLO_FIELD
#undef FIELD
#undef MESSAGE_FIELD
#undef ENUM_FIELD
#undef ENUM
#undef ENUM_VALUE

/// "HloModuleProto".
std::string_view name(MessageId message);
/// "entry_computation_id".
std::string_view name(Field field);
/// The fields of a message by number.
std::span<const Field> fields(MessageId message);
/// The field with this number or name, or null.
const Field* find_field(MessageId message, uint32_t number);
const Field* find_field(MessageId message, std::string_view name);

struct EnumValue {
  std::string_view name;
  int32_t number;
};
std::string_view name(EnumId type);
/// The values of an enumerated type.
std::span<const EnumValue> values(EnumId type);
/// The value's name, or empty where there is none of this number.
std::string_view value_name(EnumId type, int64_t number);
std::optional<int32_t> value_number(EnumId type, std::string_view name);

}  // namespace minihlo::proto
