// Messages in the wire format, as views into the bytes.
//
// A Message knows which of its fields are there and where; their values are decoded when they are
// asked for. It also knows which ones nobody has asked for, so that what a reader does not take
// over is reported and never lost in silence.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/arena.h"
#include "ir/diagnostics.h"
#include "ir/proto/schema.h"

namespace minihlo::proto {

/// What is common to all messages of one file: the bytes, and where diagnostics go.
class Input {
 public:
  Input(std::shared_ptr<const Source> source, Diagnostics& diagnostics)
      : source_(std::move(source)), diagnostics_(diagnostics) {}

  const Source& source() const { return *source_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  Location location(const char* at, size_t length) const {
    return {static_cast<uint32_t>(at - source_->text().data()), static_cast<uint32_t>(length)};
  }
  /// Notes all fields that were there and not taken over, once each; warns of unknown ones.
  void report_lost();

 private:
  friend class Message;
  struct Entry {
    uint32_t offset;  // of the value
    uint8_t index;    // of the field
    bool packed;      // a repeated scalar in one piece
  };
  struct Lost {
    MessageId message;
    uint32_t number;
    bool known;
    size_t count;
    uint32_t offset;  // of the first
  };
  void lose(MessageId message, uint32_t number, bool known, uint32_t offset);

  std::shared_ptr<const Source> source_;
  Diagnostics& diagnostics_;
  std::vector<Entry> entries_;  // of all messages that are being read, inner ones last
  std::vector<Lost> lost_;
};

class Message {
 public:
  /// Scans the fields of `bytes`, which lie in the input's source.
  Message(Input& input, MessageId type, std::string_view bytes);
  ~Message();
  Message(const Message&) = delete;
  Message& operator=(const Message&) = delete;

  MessageId type() const { return type_; }
  /// Nothing where the message stands in several pieces.
  std::string_view bytes() const { return bytes_; }
  Input& input() const { return input_; }
  /// False where the bytes are no message; that has been reported.
  bool ok() const { return ok_; }
  Location location() const { return input_.location(bytes_.data(), bytes_.size()); }
  /// What stands behind the message's place in paths: "(%add.3)".
  void set_label(std::string_view label) const { label_ = label; }
  /// "computations[2].instructions[5] (%add.3)".
  std::string path() const;
  std::string_view instruction_label() const;

  bool has(Field field) const { return (present_[field.index / 64] >> (field.index % 64)) & 1; }
  /// The value of a whole-number, truth or enumerated field; 0 where it is absent. Unsigned 64-bit
  /// values as their bits.
  int64_t integer(Field field) const;
  bool boolean(Field field) const { return integer(field) != 0; }
  double real(Field field) const;
  /// The value of a string or bytes field, or the bytes of a message; nothing where that stands in
  /// several pieces.
  std::string_view text(Field field) const;
  size_t count(Field field) const;

  /// The values of a repeated field of whole numbers, packed or not. False, after a report, where
  /// they are cut.
  bool integers(Field field, std::vector<int64_t>& values) const;
  /// The bytes of a repeated field of fixed-width values, all in one piece. `scratch` is used where
  /// they are not so in the source.
  bool fixed(Field field, std::string& scratch, std::string_view& bytes) const;
  bool strings(Field field, std::vector<std::string_view>& values) const;

  /// Calls `visit(Message&)` with the message of a field where it is there, or with each of a
  /// repeated one, as long as it returns true. False where the visitor or a scan failed.
  template <class Visit>
  bool each(Field field, Visit&& visit) const {
    use(field);
    if (!has(field)) return true;
    size_t number = 0;
    for (size_t i = begin_; i < end_; ++i) {
      const Input::Entry entry = input_.entries_[i];
      if (entry.index != field.index) continue;
      Message inner(*this, field, number++, value_bytes(entry.offset));
      if (has_pieces_ && !field.is_repeated()) {
        while (++i < end_) {
          const Input::Entry next = input_.entries_[i];
          if (next.index == field.index && inner.ok()) inner.merge(value_bytes(next.offset));
        }
      }
      if (!inner.ok() || !visit(inner)) return false;
    }
    return true;
  }

  /// Marks a field as one that need not be taken over.
  void use(Field field) const { used_[field.index / 64] |= uint64_t{1} << (field.index % 64); }
  void use_all() const { used_[0] = used_[1] = ~uint64_t{0}; }

  /// Reports an error in the message, or in one of its fields; returns false.
  bool fail(std::string_view rule, std::string message) const;
  bool fail(std::string_view rule, Field field, std::string message) const;
  bool fail(std::string_view rule, Field field, size_t index, std::string message) const;
  void warn(std::string_view rule, std::string message) const;

 private:
  Message(const Message& parent, Field field, size_t index, std::string_view bytes);
  void scan(std::string_view bytes);
  void merge(std::string_view bytes);
  void add(const Field& field, uint32_t offset, bool packed);
  const Input::Entry* find(Field field) const;
  std::string_view value_bytes(uint32_t offset) const;
  std::string path_of(Field field) const;
  bool fail_at(std::string_view rule, Location place, std::string path, std::string message) const;

  Input& input_;
  MessageId type_;
  std::string_view bytes_;
  const Message* parent_ = nullptr;
  Field field_{};  // of the parent
  size_t index_ = 0;
  int depth_ = 0;
  mutable std::string_view label_;
  size_t begin_;
  size_t end_;
  uint64_t present_[2] = {0, 0};
  mutable uint64_t used_[2] = {0, 0};
  bool ok_ = true;
  bool has_pieces_ = false;  // a single message is there more than once
};

}  // namespace minihlo::proto
