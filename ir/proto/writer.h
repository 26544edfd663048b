// Writes messages in the wire format.
//
//   Writer out(bytes);
//   out.text(HloModuleProto::name, module.name());
//   out.message(HloModuleProto::computations, [&](Writer& inner) { ... });
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "ir/proto/schema.h"

namespace minihlo::proto {

/// Appends fields of one message. A single field that holds 0 or nothing is left out, as proto3
/// does, unless `always` asks for it.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  void integer(Field field, int64_t value, bool always = false);
  void real(Field field, double value, bool always = false);
  void text(Field field, std::string_view value, bool always = false);

  /// A repeated field of whole numbers; nothing where there are none.
  template <class T>
  void integers(Field field, std::span<const T> values) {
    if (values.empty()) return;
    open(field);
    const size_t begin = out_.size();
    for (T value : values) varint(static_cast<uint64_t>(static_cast<int64_t>(value)));
    close(begin);
  }
  /// A repeated field of fixed-width values, as they stand in memory.
  void fixed(Field field, std::string_view bytes);

  /// Fields that have been written elsewhere.
  void append(std::string_view fields) { out_ += fields; }

  /// A message; `fill(Writer&)` writes what is in it, which may be nothing.
  template <class Fill>
  void message(Field field, Fill&& fill) {
    open(field);
    const size_t begin = out_.size();
    fill(*this);
    close(begin);
  }

 private:
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void tag(Field field, uint32_t wire_type) { varint(uint32_t{field.number} << 3 | wire_type); }
  // The tag of a length-delimited field, and room for its length.
  void open(Field field);
  // Fills in the length of what was appended from `begin` on.
  void close(size_t begin);

  std::string& out_;
};

}  // namespace minihlo::proto
