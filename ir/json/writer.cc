#include "ir/json/writer.h"

#include <charconv>
#include <cmath>

#include "ir/json/layout_text.h"
#include "ir/json/module_json.h"

namespace minihlo {
namespace internal {
namespace {

constexpr std::string_view kIds[] = {
#define ATTRIBUTE(id, text, kind) #id,
#define WORD_ATTRIBUTE(id, text, type, words) #id,
#include "ir/attributes.def"
#undef ATTRIBUTE
#undef WORD_ATTRIBUTE
};

// Whether the shape has the layout that is meant where none is written.
bool has_default_layout(const Shape& shape) {
  const Layout* layout = shape.layout();
  if (!layout || !layout->has_only_order()) return false;
  int64_t expected = shape.rank();
  for (int64_t dim : layout->minor_to_major) {
    if (dim != --expected) return false;
  }
  return true;
}

// How many bytes at the start of `text` are one character of UTF-8; 0: none are.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  // Longer than need be, a surrogate, or beyond the last character.
  if ((first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) >= 0xA0) ||
      (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) >= 0x90)) {
    return 0;
  }
  return length;
}

void append_unicode_escape(TextBuffer& out, unsigned code) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(code >> shift) & 15];
}

}  // namespace

std::string_view json_key(AttributeId id) {
  const std::string_view text = info(id).text;
  return text.empty() ? kIds[static_cast<size_t>(id)] : text;
}

void JsonWriter::write(std::string_view text) {
  out_ += '"';
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= ' ' && byte < 0x80 && byte != '"' && byte != '\\') {
      ++at;
      continue;
    }
    if (byte >= 0x80) {
      if (const size_t length = utf8_length(text.substr(at)); length > 0) {
        at += length;
        continue;
      }
    }
    out_ += text.substr(done, at - done);
    done = ++at;
    switch (byte) {
      case '"':
      case '\\':
        out_ += '\\';
        out_ += static_cast<char>(byte);
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\t':
        out_ += "\\t";
        break;
      default:
        append_unicode_escape(out_, byte < 0x80 ? byte : 0xDC00u + byte);
    }
  }
  out_ += text.substr(done);
  out_ += '"';
}

void JsonWriter::write(double value) {
  if (std::isfinite(value)) {
    constexpr size_t kDigits = 40;
    char* to = out_.room(kDigits);
    out_.commit(std::to_chars(to, to + kDigits, value).ptr);
  } else {
    out_ += std::isnan(value) ? "\"nan\"" : value < 0 ? "\"-inf\"" : "\"inf\"";
  }
}

void JsonWriter::write(const Shape* shape) {
  if (auto known = shapes_.find(shape); known != shapes_.end()) {
    out_ += known->second;
    return;
  }
  std::string text;
  {
    JsonWriter writer(text);
    writer.write_shape(*shape);
  }
  const std::string_view kept = shape_texts_.copy_string(text);
  shapes_[shape] = kept;
  out_ += kept;
}

void JsonWriter::write_shape(const Shape& shape) {
  out_ += '{';
  switch (shape.kind()) {
    case Shape::Kind::kTuple:
      write_key("tuple");
      write_list(shape.elements());
      break;
    case Shape::Kind::kBuffer:
      write_key("buffer");
      write(shape.element(0));
      break;
    case Shape::Kind::kToken:
      write_key("type");
      write(std::string_view("token"));
      break;
    case Shape::Kind::kOpaque:
      write_key("type");
      write(std::string_view("opaque"));
      break;
    case Shape::Kind::kArray: {
      write_key("type");
      write(to_string(shape.element_type()));
      out_ += ',';
      write_key("dims");
      out_ += '[';
      for (int64_t i = 0; i < shape.rank(); ++i) {
        if (i > 0) out_ += ',';
        if (shape.dim(i) == kUnboundedSize) {
          out_ += "null";
        } else {
          write(shape.dim(i));
        }
      }
      out_ += ']';
      if (shape.is_dynamic()) {
        out_ += ',';
        write_key("dynamic");
        write_list(shape.dynamic_dims());
      }
      if (!has_default_layout(shape)) write_layout(shape);
      break;
    }
  }
  out_ += '}';
}

void JsonWriter::write_layout(const Shape& shape) {
  out_ += ',';
  write_key("layout");
  if (!shape.layout()) {
    out_ += "null";
    return;
  }
  const Layout& layout = *shape.layout();
  out_ += '{';
  Fields fields{*this};
  describe_layout_numbers(fields, layout);
  if (!layout.tiling.empty()) {
    out_ += ',';
    write_key("tiles");
    out_ += '[';
    bool first = true;
    for (const std::vector<int64_t>& tile : parse_tiling(layout.tiling)) {
      if (!std::exchange(first, false)) out_ += ',';
      out_ += '[';
      for (size_t i = 0; i < tile.size(); ++i) {
        if (i > 0) out_ += ',';
        if (tile[i] == kCombinedDimension) {
          out_ += "null";
        } else {
          write(tile[i]);
        }
      }
      out_ += ']';
    }
    out_ += ']';
  }
  if (!layout.split_configs.empty()) {
    out_ += ',';
    write_key("split_configs");
    write(parse_split_configs(layout.split_configs));
  }
  out_ += '}';
}

void JsonWriter::write_string_map(std::span<const NamedString> map) {
  out_ += '{';
  bool first = true;
  for (const NamedString& entry : map) {
    if (!std::exchange(first, false)) out_ += ',';
    write(entry.name);
    out_ += ':';
    write(entry.value);
  }
  out_ += '}';
}

void JsonWriter::write_attribute(const Attribute& attribute, const Shape* shape) {
  visit_kind(info(attribute.id).kind, [&](auto constant) {
    constexpr AttributeKind kind = decltype(constant)::value;
    if constexpr (kind == AttributeKind::kEnum) {
      write(word(attribute.id, attribute.integer));
    } else {
      auto value = attribute_value<typename KindTraits<kind>::type>(attribute);
      if constexpr (kind == AttributeKind::kLiteral) {
        write_literal(*value, attribute.id == AttributeId::literal_value ? shape : nullptr);
      } else {
        write(value);
      }
    }
  });
}

void JsonWriter::write_attributes(std::span<const Attribute> attributes, const Shape* shape) {
  out_ += '{';
  bool first = true;
  for (const Attribute& attribute : attributes) {
    if (!std::exchange(first, false)) out_ += ',';
    write_key(json_key(attribute.id));
    write_attribute(attribute, shape);
  }
  out_ += '}';
}

void JsonWriter::write_instruction(const Instruction& instruction) {
  out_ += '{';
  Fields fields{*this};
  fields("name", instruction.name());
  fields("opcode", to_string(instruction.opcode()));
  fields("shape", instruction.shape());
  if (instruction.operand_count() > 0) fields("operands", instruction.operands());
  if (!instruction.attributes().empty()) {
    out_ += ',';
    write_key("attributes");
    write_attributes(instruction.attributes(), instruction.shape());
  }
  out_ += '}';
}

void JsonWriter::write_computation(const Computation& computation) {
  out_ += '{';
  Fields fields{*this};
  fields("name", computation.name());
  fields("execution_thread", computation.execution_thread(), "main");
  if (computation.root()) fields("root", computation.root()->name());
  out_ += ",\"instructions\":[";
  bool first = true;
  for (const Instruction* instruction : computation.instructions()) {
    out_ += std::exchange(first, false) ? "\n" : ",\n";
    write_instruction(*instruction);
  }
  out_ += "]}";
}

void JsonWriter::write_module(const Module& module) {
  out_ += '{';
  Fields fields{*this};
  fields("format", kJsonFormat);
  fields("version", kJsonVersion);
  fields("name", module.name());
  fields("entry", module.entry()->name());
  if (!module.attributes().empty()) {
    out_ += ",\n";
    write_key("attributes");
    write_attributes(module.attributes(), nullptr);
  }
  if (!module.stack_frames().empty()) {
    out_ += ",\n";
    write_key("stack_frames");
    write(module.stack_frames());
  }
  out_ += ",\n\"computations\":[";
  bool first = true;
  for (const Computation* computation : module.computations()) {
    out_ += std::exchange(first, false) ? "\n" : ",\n";
    write_computation(*computation);
  }
  out_ += "]}\n";
}

}  // namespace internal

std::string print_json(const Module& module) {
  std::string out;
  internal::JsonWriter(out).write_module(module);
  return out;
}

}  // namespace minihlo
