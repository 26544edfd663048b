#include "ir/proto/proto_text.h"

#include <cmath>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "ir/proto/message.h"
#include "ir/text/strings.h"

namespace minihlo {
namespace proto {
namespace {

class TextWriter {
 public:
  explicit TextWriter(std::string& out) : out_(out) {}

  void write(const Message& in) {
    for (const Field& field : fields(in.type())) {
      if (!in.has(field)) continue;
      switch (field.kind) {
        case FieldKind::kMessage:
          in.each(field, [&](const Message& inner) {
            line(field, " {");
            indent_ += 2;
            write(inner);
            indent_ -= 2;
            out_.append(indent_, ' ');
            out_ += "}\n";
            return true;
          });
          break;
        case FieldKind::kString:
        case FieldKind::kBytes: {
          std::vector<std::string_view> list;
          in.strings(field, list);
          for (std::string_view text : list) {
            line(field, fmt::format(": \"{}\"", escaped(text)));
          }
          break;
        }
        case FieldKind::kFloat:
        case FieldKind::kDouble:
          write_reals(in, field);
          break;
        default: {
          std::vector<int64_t> list;
          in.integers(field, list);
          for (int64_t value : list) line(field, ": " + number(field, value));
          break;
        }
      }
    }
  }

 private:
  void line(const Field& field, std::string_view rest) {
    out_.append(indent_, ' ');
    out_ += name(field);
    out_ += rest;
    out_ += '\n';
  }

  static std::string number(const Field& field, int64_t value) {
    switch (field.kind) {
      case FieldKind::kBool:
        return value ? "true" : "false";
      case FieldKind::kEnum:
        return std::string(value_name(field.enum_type(), value));
      case FieldKind::kUint64:
        return std::to_string(static_cast<uint64_t>(value));
      default:
        return std::to_string(value);
    }
  }

  void write_reals(const Message& in, const Field& field) {
    std::string scratch;
    std::string_view bytes;
    if (!field.is_repeated()) {
      if (field.kind == FieldKind::kDouble) return line(field, real(in.real(field)));
      return line(field, real(static_cast<float>(in.real(field))));
    }
    in.fixed(field, scratch, bytes);
    auto each = [&]<class T>(T value) {
      for (; !bytes.empty(); bytes.remove_prefix(sizeof(T))) {
        std::memcpy(&value, bytes.data(), sizeof(T));
        line(field, real(value));
      }
    };
    if (field.kind == FieldKind::kDouble) {
      each(double{});
    } else {
      each(float{});
    }
  }

  template <class T>
  static std::string real(T value) {
    if (std::isnan(value)) return std::signbit(value) ? ": -nan" : ": nan";
    return fmt::format(": {}", value);
  }

  std::string& out_;
  size_t indent_ = 0;
};

}  // namespace
}  // namespace proto

std::string wire_to_proto_text(const std::string& wire) {
  std::shared_ptr<const Source> source = Source::from_string("", wire);
  Diagnostics diagnostics(source);
  proto::Input input(source, diagnostics);
  std::string out;
  proto::TextWriter(out).write(proto::Message(input, proto::MessageId::HloProto, source->text()));
  return out;
}

}  // namespace minihlo
