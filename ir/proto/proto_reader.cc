#include "ir/proto/proto_reader.h"

#include <algorithm>
#include <limits>

#include <protozero/pbf_reader.hpp>

#include "ir/proto/message.h"
#include "ir/proto/module_reading.h"

namespace minihlo {
namespace proto {
namespace {

// Calls visit(tag, type, bytes of a length-delimited value) for the fields of a message, as far as
// they can be read.
template <class Visit>
void scan(std::string_view bytes, Visit visit) {
  try {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
      const uint32_t tag = reader.tag();  // with assertions on, it is gone behind the value
      const protozero::pbf_wire_type type = reader.wire_type();
      std::string_view value;
      if (type == protozero::pbf_wire_type::length_delimited) {
        // Of a value that is cut, what is left tells enough.
        const char* at = reader.data().data();
        const char* const end = at + reader.data().size();
        const uint64_t size = protozero::decode_varint(&at, end);
        value = {at, std::min<uint64_t>(size, static_cast<size_t>(end - at))};
      }
      visit(tag, type, value);
      reader.skip();
    }
  } catch (const protozero::exception&) {
    // What is wrong is reported by those who read the message.
  }
}

// A name never begins with a control character, and a message that holds something always does.
bool is_message(std::string_view bytes) {
  return !bytes.empty() && static_cast<unsigned char>(bytes[0]) < ' ';
}

// Whether a message is a configuration and not the inputs of a snapshot: it always has counts.
bool is_config(std::string_view bytes) {
  bool has_counts = false;
  scan(bytes, [&](uint32_t tag, protozero::pbf_wire_type type, std::string_view) {
    has_counts |= (tag == HloModuleConfigProto::replica_count.number ||
                   tag == HloModuleConfigProto::num_partitions.number) &&
                  type == protozero::pbf_wire_type::varint;
  });
  return has_counts;
}

// The message that a file holds, told by what its first fields are.
MessageId outer_message(std::string_view bytes) {
  std::string_view first;
  bool is_snapshot = false;
  bool has_second = false;
  bool has_config = false;
  scan(bytes, [&](uint32_t tag, protozero::pbf_wire_type type, std::string_view value) {
    if (tag == 1 && first.empty()) first = value;
    if (tag == 2) {
      has_second = true;
      has_config |= is_config(value);
    }
    is_snapshot |=
        tag == HloUnoptimizedSnapshot::version.number && type == protozero::pbf_wire_type::varint;
  });
  if (!is_message(first)) return MessageId::HloModuleProto;
  std::string_view inner;
  scan(first, [&](uint32_t tag, protozero::pbf_wire_type, std::string_view value) {
    if (tag == 1 && inner.empty()) inner = value;
  });
  if (is_message(inner)) return MessageId::HloSnapshot;
  return is_snapshot || (has_second && !has_config) ? MessageId::HloUnoptimizedSnapshot
                                                    : MessageId::HloProto;
}

bool read_hlo(const Message& file, ModuleReader& reader) {
  if (!file.has(HloProto::hlo_module)) {
    return file.fail("missing-field", HloProto::hlo_module, "there is no module");
  }
  auto read = [&](const Message* config) {
    return file.each(HloProto::hlo_module, [&](const Message& module) {
      return reader.run(module, config);
    }) && reader.read_extra(file);
  };
  if (!file.has(HloProto::config)) return read(nullptr);
  return file.each(HloProto::config, [&](const Message& config) { return read(&config); });
}

bool read_file(const Message& file, ModuleReader& reader) {
  switch (file.type()) {
    case MessageId::HloModuleProto:
      return reader.run(file, nullptr);
    case MessageId::HloSnapshot:
      return file.each(HloSnapshot::hlo, [&](const Message& hlo) { return read_hlo(hlo, reader); });
    case MessageId::HloUnoptimizedSnapshot:
      file.use(HloUnoptimizedSnapshot::version);
      return file.each(HloUnoptimizedSnapshot::hlo_module,
                       [&](const Message& module) { return reader.run(module, nullptr); });
    default:
      return read_hlo(file, reader);
  }
}

}  // namespace
}  // namespace proto

std::unique_ptr<Module> parse_proto(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                                    const ParseOptions& options) {
  // Locations are 32 bits wide; protobuf itself stops at 2 GiB.
  if (source->text().size() >= std::numeric_limits<uint32_t>::max()) {
    diagnostics.error("file-too-long", {}, "the file is 4 GiB or longer");
    return nullptr;
  }
  auto module = std::make_unique<Module>("", options.shapes);
  module->keep(source);
  proto::Input input(source, diagnostics);
  const size_t errors_before = diagnostics.error_count();
  {
    proto::ModuleReader reader(*module, input);
    proto::Message file(input, proto::outer_message(source->text()), source->text());
    if (!file.ok() || !proto::read_file(file, reader)) return nullptr;
  }
  if (diagnostics.error_count() > errors_before) return nullptr;
  input.report_lost();
  return module;
}

}  // namespace minihlo
