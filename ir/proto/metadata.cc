// What is said about instructions and changes nothing: where they come from, attributes of the
// frontend, the tables of stack frames.
#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "ir/proto/reading.h"
#include "ir/proto/structures.h"
#include "ir/proto/writing.h"
#include "ir/text/strings.h"

namespace minihlo::proto {
namespace {

struct MetadataField {
  AttributeId id;
  Field field;  // of OpMetadata; it has the attribute's name
};

std::span<const MetadataField> metadata_fields() {
  static const auto table = [] {
    std::vector<MetadataField> rows;
    for (const AttributeUse& use : metadata_attributes()) {
      rows.push_back({use.id, *find_field(MessageId::OpMetadata, info(use.id).text)});
    }
    return rows;
  }();
  return table;
}

}  // namespace

bool read_payload(Reading& reading, const Message& in, std::string_view& text) {
  text = in.text(Payload::value);
  if (!in.has(Payload::id)) return true;
  const int64_t id = in.integer(Payload::id);
  if (id < 0 || static_cast<size_t>(id) >= reading.payloads.size()) {
    return in.fail("unknown-id", Payload::id, fmt::format("the module has no payload {}", id));
  }
  text = reading.payloads[static_cast<size_t>(id)];
  return true;
}

bool read_metadata(Reading& reading, const Message& in, std::span<const Attribute>& metadata) {
  std::vector<Attribute> values;
  for (const auto& [id, field] : metadata_fields()) {
    if (!in.has(field)) continue;
    Attribute value{id, 0, {0}};
    auto put = [&](std::string_view text) {
      value.data = text.data();
      value.size = static_cast<uint32_t>(text.size());
    };
    switch (field.kind) {
      case FieldKind::kString:
        put(in.text(field));
        break;
      case FieldKind::kMessage: {
        std::string_view text;
        if (!in.each(field,
                     [&](const Message& inner) { return read_payload(reading, inner, text); })) {
          return false;
        }
        put(text);
        break;
      }
      case FieldKind::kEnum: {
        std::vector<int64_t> numbers;
        if (!in.integers(field, numbers)) return false;
        put(reading.arena.copy_string(fmt::format("{{{}}}", fmt::join(numbers, ","))));
        break;
      }
      default:
        value.integer = in.integer(field);
        break;
    }
    values.push_back(value);
  }
  metadata = reading.arena.copy(values);
  return true;
}

void write_metadata(Writer& out, std::span<const Attribute> metadata) {
  for (const auto& [id, field] : metadata_fields()) {
    const Attribute* value = find_attribute(metadata, id);
    if (!value) continue;
    std::string_view text;
    if (info(id).kind == AttributeKind::kString || info(id).kind == AttributeKind::kBraced) {
      text = attribute_value<std::string_view>(*value);
    }
    switch (field.kind) {
      case FieldKind::kString:
        out.text(field, text);
        break;
      case FieldKind::kMessage:
        out.message(field, [&](Writer& inner) { inner.text(Payload::value, text, true); });
        break;
      case FieldKind::kEnum: {
        std::vector<int64_t> numbers;
        const char* at = text.data();
        const char* const end = at + text.size();
        for (int64_t number; at < end; ++at) {
          auto [behind, error] = std::from_chars(at, end, number);
          if (error != std::errc()) continue;
          numbers.push_back(number);
          at = behind;
        }
        out.integers<int64_t>(field, numbers);
        break;
      }
      default:
        out.integer(field, value->integer);
        break;
    }
  }
}

bool read_string_map(Reading& reading, const Message& in, std::span<const NamedString>& map) {
  std::vector<NamedString> entries;
  if (!in.each(FrontendAttributes::map, [&](const Message& entry) {
        std::string_view value = entry.text(MapEntry::value);
        entries.push_back({entry.text(MapEntry::key), value, is_braced(value)});
        return true;
      })) {
    return false;
  }
  // Of a key that is there twice the last value counts, as in any map of protobuf.
  std::stable_sort(entries.begin(), entries.end(),
                   [](const NamedString& a, const NamedString& b) { return a.name < b.name; });
  std::vector<NamedString> unique;
  for (const NamedString& entry : entries) {
    if (!unique.empty() && unique.back().name == entry.name) unique.pop_back();
    unique.push_back(entry);
  }
  map = reading.arena.copy(unique);
  return true;
}

void write_string_map(Writer& out, std::span<const NamedString> map) {
  for (const NamedString& one : map) {
    out.message(FrontendAttributes::map, [&](Writer& entry) {
      entry.text(MapEntry::key, one.name);
      entry.text(MapEntry::value, one.value);
    });
  }
}

bool read_stack_frames(Reading& reading, const Message& in) {
  StackFrames& tables = reading.module.stack_frames();
  // In text, and so in the IR, the parent's number is one more than here.
  return in.strings(StackFrameIndexProto::file_names, tables.file_names) &&
         in.strings(StackFrameIndexProto::function_names, tables.function_names) &&
         read_structures(reading, in, StackFrameIndexProto::file_locations,
                         tables.file_locations) &&
         in.each(StackFrameIndexProto::stack_frames, [&](const Message& row) {
           tables.frames.push_back({row.integer(StackFrame::file_location_id),
                                    row.integer(StackFrame::parent_frame_id) + 1});
           return true;
         });
}

void write_stack_frames(Writer& out, const StackFrames& tables) {
  for (std::string_view name : tables.file_names) {
    out.text(StackFrameIndexProto::file_names, name, true);
  }
  for (std::string_view name : tables.function_names) {
    out.text(StackFrameIndexProto::function_names, name, true);
  }
  write_structures(out, StackFrameIndexProto::file_locations,
                   std::span<const StackFrames::FileLocation>(tables.file_locations));
  for (const StackFrames::Frame& row : tables.frames) {
    out.message(StackFrameIndexProto::stack_frames, [&](Writer& inner) {
      inner.integer(StackFrame::file_location_id, row.file_location_id);
      inner.integer(StackFrame::parent_frame_id, row.parent_frame_id - 1);
    });
  }
}

}  // namespace minihlo::proto
