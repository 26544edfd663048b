#include "ir/proto/writer.h"

#include <bit>

#include <protozero/varint.hpp>

namespace minihlo::proto {
namespace {

constexpr uint32_t kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5;

}  // namespace

void Writer::integer(Field field, int64_t value, bool always) {
  if (value == 0 && !always) return;
  tag(field, kVarint);
  varint(static_cast<uint64_t>(value));
}

void Writer::real(Field field, double value, bool always) {
  if (std::bit_cast<uint64_t>(value) == 0 && !always) return;
  const bool wide = field.kind == FieldKind::kDouble;
  tag(field, wide ? kFixed64 : kFixed32);
  char bytes[8];
  if (wide) {
    std::memcpy(bytes, &value, 8);
  } else {
    const auto narrow = static_cast<float>(value);
    std::memcpy(bytes, &narrow, 4);
  }
  out_.append(bytes, wide ? 8 : 4);
}

void Writer::text(Field field, std::string_view value, bool always) {
  if (value.empty() && !always) return;
  tag(field, kLengthDelimited);
  varint(value.size());
  out_ += value;
}

void Writer::fixed(Field field, std::string_view bytes) { text(field, bytes); }

void Writer::open(Field field) {
  tag(field, kLengthDelimited);
  out_ += '\0';
}

void Writer::close(size_t begin) {
  const size_t size = out_.size() - begin;
  const auto width = static_cast<size_t>(protozero::length_of_varint(size));
  // Most messages are short, so there is room for one byte; longer ones move up.
  if (width > 1) out_.insert(begin, width - 1, '\0');
  char* at = out_.data() + begin - 1;
  protozero::write_varint(at, size);
}

}  // namespace minihlo::proto
