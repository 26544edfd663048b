#include "ir/proto/message.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>
#include <protozero/pbf_reader.hpp>

namespace minihlo::proto {
namespace {

// Deeper than what anything nests that is not made to break readers, and safe on a thread's stack.
constexpr int kMaxDepth = 500;

bool is_length_delimited(FieldKind kind) {
  return kind == FieldKind::kString || kind == FieldKind::kBytes || kind == FieldKind::kMessage;
}

protozero::pbf_wire_type wire_type(FieldKind kind) {
  switch (kind) {
    case FieldKind::kFloat:
      return protozero::pbf_wire_type::fixed32;
    case FieldKind::kDouble:
      return protozero::pbf_wire_type::fixed64;
    default:
      return is_length_delimited(kind) ? protozero::pbf_wire_type::length_delimited
                                       : protozero::pbf_wire_type::varint;
  }
}

// A varint that is known to be whole. One byte is the common case.
uint64_t read_varint(const char*& at) {
  if (static_cast<signed char>(*at) >= 0) return static_cast<uint64_t>(*at++);
  return protozero::decode_varint(&at, at + protozero::max_varint_length);
}

// Why a varint can't be read.
std::string_view wrong_varint(std::string_view bytes) {
  return bytes.size() < protozero::max_varint_length ? "is cut" : "has more than 10 bytes";
}

// Why the field at the start of `bytes`, of a message of this type, can't be read.
std::string what_is_wrong(MessageId type, std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  // What is left of a varint, where it can't be read.
  auto varint = [&](uint64_t& value) -> std::string_view {
    try {
      value = protozero::decode_varint(&at, end);
      return {};
    } catch (const protozero::exception&) {
      return wrong_varint({at, static_cast<size_t>(end - at)});
    }
  };
  uint64_t key = 0;
  if (auto wrong = varint(key); !wrong.empty()) {
    return fmt::format("the number of a field {}", wrong);
  }
  // As many bits as count.
  const auto number = static_cast<uint32_t>(key) >> 3;
  const Field* field = find_field(type, number);
  const std::string what =
      field ? fmt::format("'{}'", name(*field)) : fmt::format("field {}", number);
  const auto kind = static_cast<protozero::pbf_wire_type>(key & 7);
  const auto left = [&] { return static_cast<size_t>(end - at); };
  uint64_t value = 0;
  switch (kind) {
    case protozero::pbf_wire_type::varint: {
      auto wrong = varint(value);
      if (!wrong.empty()) return fmt::format("the number in {} {}", what, wrong);
      break;
    }
    case protozero::pbf_wire_type::fixed32:
    case protozero::pbf_wire_type::fixed64: {
      const size_t width = kind == protozero::pbf_wire_type::fixed32 ? 4 : 8;
      if (left() < width) {
        return fmt::format("{} is cut: it has {} bytes, and {} are left", what, width, left());
      }
      break;
    }
    case protozero::pbf_wire_type::length_delimited: {
      auto wrong = varint(value);
      if (!wrong.empty()) return fmt::format("the length of {} {}", what, wrong);
      value = static_cast<protozero::pbf_length_type>(value);
      if (value > left()) {
        return fmt::format("{} is cut: it has {} bytes, and {} are left", what, value, left());
      }
      break;
    }
    default:
      if ((key & 7) == 3 || (key & 7) == 4) {
        return fmt::format("{} is a group, which XLA never writes", what);
      }
      return fmt::format("{} has wire type {}, which there is not", what, key & 7);
  }
  return fmt::format("there is no field number {}", number);
}

// As the field's type holds it.
int64_t narrowed(FieldKind kind, uint64_t value) {
  switch (kind) {
    case FieldKind::kBool:
      return value != 0;
    case FieldKind::kInt32:
    case FieldKind::kEnum:
      return static_cast<int32_t>(value);
    case FieldKind::kUint32:
      return static_cast<uint32_t>(value);
    default:
      return static_cast<int64_t>(value);
  }
}

}  // namespace

void Input::lose(MessageId message, uint32_t number, bool known, uint32_t offset) {
  for (Lost& lost : lost_) {
    if (lost.message == message && lost.number == number) {
      ++lost.count;
      return;
    }
  }
  constexpr size_t kMostKinds = 1000;
  if (lost_.size() < kMostKinds) lost_.push_back({message, number, known, 1, offset});
}

void Input::report_lost() {
  for (const Lost& lost : lost_) {
    std::string what;
    if (const Field* field = lost.known ? find_field(lost.message, lost.number) : nullptr) {
      what = fmt::format("'{}' of {} is not taken over", name(*field), name(lost.message));
    } else {
      what = fmt::format("{} has an unknown field {}, which is not taken over", name(lost.message),
                         lost.number);
    }
    if (lost.count > 1) what += fmt::format(" ({} times)", lost.count);
    // What the schema knows and no reader asks for says nothing about what the module means.
    if (lost.known) {
      diagnostics_.note("field-not-kept", {lost.offset, 1}, std::move(what));
    } else {
      diagnostics_.warning("unknown-field", {lost.offset, 1}, std::move(what));
    }
  }
  lost_.clear();
}

Message::Message(Input& input, MessageId type, std::string_view bytes)
    : input_(input), type_(type), bytes_(bytes), begin_(input.entries_.size()), end_(begin_) {
  scan(bytes);
}

Message::Message(const Message& parent, Field field, size_t index, std::string_view bytes)
    : input_(parent.input_),
      type_(field.message_type()),
      bytes_(bytes),
      parent_(&parent),
      field_(field),
      index_(index),
      depth_(parent.depth_ + 1),
      begin_(parent.input_.entries_.size()),
      end_(begin_) {
  scan(bytes);
}

Message::~Message() {
  if (ok_ && input_.diagnostics_.ok()) {
    for (size_t word = 0; word < 2; ++word) {
      uint64_t lost = present_[word] & ~used_[word];
      for (; lost != 0; lost &= lost - 1) {
        const auto index = static_cast<size_t>(__builtin_ctzll(lost)) + 64 * word;
        const Field& field = fields(type_)[index];
        input_.lose(type_, field.number, true, find(field)->offset);
      }
    }
  }
  input_.entries_.resize(begin_);
}

void Message::scan(std::string_view bytes) {
  if (depth_ > kMaxDepth) {
    ok_ = fail("nested-too-deeply", fmt::format("nested more than {} levels deep", kMaxDepth));
    return;
  }
  // Nothing is known of what an opaque message holds.
  if (type_ == MessageId::Opaque) return;
  const char* place = bytes.data();
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    for (; reader.next(); place = reader.data().data()) {
      const auto offset =
          static_cast<uint32_t>(reader.data().data() - input_.source_->text().data());
      const uint32_t tag = reader.tag();  // with assertions on, it is gone behind the value
      const Field* field = find_field(type_, tag);
      const bool whole = field && reader.wire_type() == wire_type(field->kind);
      const bool packed = field && !whole && field->is_repeated() &&
                          !is_length_delimited(field->kind) &&
                          reader.wire_type() == protozero::pbf_wire_type::length_delimited;
      reader.skip();
      if (whole || packed) {
        add(*field, offset, packed);
      } else {
        input_.lose(type_, tag, false, offset);
      }
    }
  } catch (const protozero::exception&) {
    const auto left = static_cast<size_t>(bytes.data() + bytes.size() - place);
    ok_ = fail_at(
        "malformed-message", input_.location(place, std::max<size_t>(left, 1)), path(),
        fmt::format("these bytes are no {}: {}", name(type_), what_is_wrong(type_, {place, left})));
  }
  end_ = input_.entries_.size();
}

// As protobuf has it: what is there again adds to repeated fields and replaces single ones.
void Message::merge(std::string_view bytes) {
  bytes_ = bytes_.substr(0, 0);
  scan(bytes);
}

void Message::add(const Field& field, uint32_t offset, bool packed) {
  if (has(field) && !field.is_repeated() && field.kind == FieldKind::kMessage) has_pieces_ = true;
  present_[field.index / 64] |= uint64_t{1} << (field.index % 64);
  input_.entries_.push_back({offset, field.index, packed});
}

const Input::Entry* Message::find(Field field) const {
  if (!has(field)) return nullptr;
  // Of a single value the last one counts; of what is repeated this is asked for its place.
  if (!field.is_repeated()) {
    for (size_t i = end_; i-- > begin_;) {
      if (input_.entries_[i].index == field.index) return &input_.entries_[i];
    }
    return nullptr;
  }
  for (size_t i = begin_; i < end_; ++i) {
    if (input_.entries_[i].index == field.index) return &input_.entries_[i];
  }
  return nullptr;
}

std::string_view Message::value_bytes(uint32_t offset) const {
  const char* at = input_.source_->text().data() + offset;
  // As many bits as protozero looked at when it skipped the value.
  const auto size = static_cast<protozero::pbf_length_type>(read_varint(at));
  return {at, size};
}

int64_t Message::integer(Field field) const {
  use(field);
  const Input::Entry* entry = find(field);
  if (!entry) return 0;
  const char* at = input_.source_->text().data() + entry->offset;
  return narrowed(field.kind, read_varint(at));
}

double Message::real(Field field) const {
  use(field);
  const Input::Entry* entry = find(field);
  if (!entry) return 0;
  const char* at = input_.source_->text().data() + entry->offset;
  if (field.kind == FieldKind::kDouble) {
    double value;
    std::memcpy(&value, at, sizeof(value));
    return value;
  }
  float value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

std::string_view Message::text(Field field) const {
  use(field);
  const Input::Entry* entry = find(field);
  if (!entry || (has_pieces_ && field.kind == FieldKind::kMessage)) return {};
  return value_bytes(entry->offset);
}

size_t Message::count(Field field) const {
  use(field);
  if (!has(field)) return 0;
  return static_cast<size_t>(
      std::count_if(input_.entries_.begin() + static_cast<long>(begin_),
                    input_.entries_.begin() + static_cast<long>(end_),
                    [&](const Input::Entry& entry) { return entry.index == field.index; }));
}

bool Message::integers(Field field, std::vector<int64_t>& values) const {
  use(field);
  values.clear();
  if (!has(field)) return true;
  for (size_t i = begin_; i < end_; ++i) {
    const Input::Entry& entry = input_.entries_[i];
    if (entry.index != field.index) continue;
    const char* at = input_.source_->text().data() + entry.offset;
    if (!entry.packed) {
      values.push_back(narrowed(field.kind, read_varint(at)));
      continue;
    }
    std::string_view packed = value_bytes(entry.offset);
    at = packed.data();
    const char* const end = at + packed.size();
    try {
      while (at < end) {
        // decode_varint() looks at most this far, and says so when that is not enough.
        const uint64_t value = static_cast<signed char>(*at) >= 0
                                   ? static_cast<uint64_t>(*at++)
                                   : protozero::decode_varint(&at, end);
        values.push_back(narrowed(field.kind, value));
      }
    } catch (const protozero::exception&) {
      const auto left = static_cast<size_t>(end - at);
      return fail_at("malformed-message", input_.location(at, left), path_of(field),
                     fmt::format("the last number {}", wrong_varint({at, left})));
    }
  }
  return true;
}

bool Message::fixed(Field field, std::string& scratch, std::string_view& bytes) const {
  use(field);
  bytes = {};
  const size_t width = field.kind == FieldKind::kDouble ? 8 : 4;
  const size_t pieces = count(field);
  scratch.clear();
  for (size_t i = begin_; i < end_ && pieces > 0; ++i) {
    const Input::Entry& entry = input_.entries_[i];
    if (entry.index != field.index) continue;
    bytes = entry.packed ? value_bytes(entry.offset)
                         : input_.source_->text().substr(entry.offset, width);
    if (bytes.size() % width != 0) {
      return fail("malformed-message", field,
                  fmt::format("{} bytes are no whole number of values", bytes.size()));
    }
    if (pieces > 1) scratch += bytes;
  }
  if (pieces > 1) bytes = scratch;
  return true;
}

bool Message::strings(Field field, std::vector<std::string_view>& values) const {
  use(field);
  values.clear();
  if (!has(field)) return true;
  for (size_t i = begin_; i < end_; ++i) {
    const Input::Entry& entry = input_.entries_[i];
    if (entry.index == field.index) values.push_back(value_bytes(entry.offset));
  }
  return true;
}

std::string Message::path() const {
  if (!parent_) return {};
  std::string path = parent_->path();
  if (!path.empty()) path += '.';
  path += name(field_);
  if (field_.is_repeated()) path += fmt::format("[{}]", index_);
  if (!label_.empty()) path += fmt::format(" (%{})", label_);
  return path;
}

std::string Message::path_of(Field field) const {
  std::string path = this->path();
  if (!path.empty()) path += '.';
  path += name(field);
  return path;
}

std::string_view Message::instruction_label() const {
  for (const Message* message = this; message; message = message->parent_) {
    if (message->type_ == MessageId::HloInstructionProto) return message->label_;
  }
  return {};
}

bool Message::fail_at(std::string_view rule, Location place, std::string path,
                      std::string message) const {
  if (!path.empty()) path += ": ";
  Diagnostic& error = input_.diagnostics_.error(std::string(rule), place, path + message);
  error.instruction = instruction_label();
  return false;
}

bool Message::fail(std::string_view rule, std::string message) const {
  return fail_at(rule, input_.location(bytes_.data(), std::max<size_t>(bytes_.size(), 1)), path(),
                 std::move(message));
}

bool Message::fail(std::string_view rule, Field field, std::string message) const {
  const Input::Entry* entry = find(field);
  return fail_at(rule, entry ? Location{entry->offset, 1} : location(), path_of(field),
                 std::move(message));
}

bool Message::fail(std::string_view rule, Field field, size_t index, std::string message) const {
  const Input::Entry* entry = find(field);
  return fail_at(rule, entry ? Location{entry->offset, 1} : location(),
                 path_of(field) + fmt::format("[{}]", index), std::move(message));
}

void Message::warn(std::string_view rule, std::string message) const {
  std::string place = path();
  if (!place.empty()) place += ": ";
  input_.diagnostics_
      .warning(std::string(rule),
               input_.location(bytes_.data(), std::max<size_t>(bytes_.size(), 1)), place + message)
      .instruction = instruction_label();
}

}  // namespace minihlo::proto
