#include "ir/proto/proto_text.h"

#include <algorithm>
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "ir/proto/schema.h"
#include "ir/proto/writer.h"
#include "ir/text/strings.h"

namespace minihlo {
namespace proto {
namespace {

constexpr MessageId kFiles[] = {MessageId::HloProto, MessageId::HloModuleProto,
                                MessageId::HloSnapshot};

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '-' || c == '+';
}

// A cursor over the pieces of a text: words and numbers, strings, single characters.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) { skip_blank(); }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[at_]; }
  size_t offset() const { return at_; }

  bool accept(char c) {
    if (peek() != c || at_end()) return false;
    ++at_;
    skip_blank();
    return true;
  }
  std::string_view word() {
    const size_t begin = at_;
    while (!at_end() && is_word_character(text_[at_])) ++at_;
    std::string_view found = text_.substr(begin, at_ - begin);
    skip_blank();
    return found;
  }
  // A string's text between the quotes, with escapes; false where nothing closes it.
  bool string(std::string_view& inside) {
    const char quote = text_[at_];
    const size_t begin = ++at_;
    while (!at_end() && text_[at_] != quote && text_[at_] != '\n') {
      at_ += text_[at_] == '\\' ? 2 : 1;
      at_ = std::min(at_, text_.size());
    }
    if (peek() != quote || at_end()) return false;
    inside = text_.substr(begin, at_ - begin);
    ++at_;
    skip_blank();
    return true;
  }

 private:
  void skip_blank() {
    while (!at_end()) {
      const char c = text_[at_];
      if (c == '#') {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at_;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

class TextReader {
 public:
  TextReader(const Source& source, Diagnostics& diagnostics)
      : source_(source), diagnostics_(diagnostics), cursor_(source.text()) {}

  bool run(MessageId type, std::string& wire) {
    Writer out(wire);
    return read_fields(type, out, '\0');
  }

 private:
  static constexpr int kMaxDepth = 500;

  // An error at what stands next, or at a word that is read already.
  bool fail(std::string message) { return fail_at(cursor_.offset(), 1, std::move(message)); }
  bool fail_at(size_t place, size_t length, std::string message) {
    const auto bytes = static_cast<uint32_t>(std::max<size_t>(length, 1));
    diagnostics_.error("invalid-proto-text", {static_cast<uint32_t>(place), bytes},
                       std::move(message));
    return false;
  }

  // The fields of a message up to `end`, which is read too.
  bool read_fields(MessageId type, Writer& out, char end) {
    if (++depth_ > kMaxDepth) {
      return fail(fmt::format("nested more than {} levels deep", kMaxDepth));
    }
    for (;;) {
      if (end == '\0' ? cursor_.at_end() : cursor_.accept(end)) {
        --depth_;
        return true;
      }
      if (cursor_.at_end()) return fail(fmt::format("expected '{}' before the text ends", end));
      const auto place = static_cast<uint32_t>(cursor_.offset());
      std::string_view word = cursor_.word();
      if (word.empty()) return fail("expected the name of a field");
      const Field* field = find_field(type, word);
      if (!field || type == MessageId::Opaque) {
        if (type != MessageId::Opaque) {
          // Places of later diagnostics are in the wire format, so this one has none.
          diagnostics_.warning("unknown-field", {},
                               fmt::format("line {}: {} has no field '{}'; it is left out",
                                           source_.position(place).line, name(type), word));
        }
        if (!skip_value()) return false;
      } else if (!read_field(*field, out)) {
        return false;
      }
      if (!cursor_.accept(',')) cursor_.accept(';');
    }
  }

  bool read_field(const Field& field, Writer& out) {
    const bool colon = cursor_.accept(':');
    if (field.kind != FieldKind::kMessage && !colon) {
      return fail(fmt::format("expected ':' behind '{}'", name(field)));
    }
    if (!cursor_.accept('[')) return read_value(field, out);
    if (!field.is_repeated()) return fail(fmt::format("'{}' takes one value", name(field)));
    if (cursor_.accept(']')) return true;
    do {
      if (!read_value(field, out)) return false;
    } while (cursor_.accept(','));
    return cursor_.accept(']') || fail("expected ']' or ','");
  }

  bool read_value(const Field& field, Writer& out) {
    switch (field.kind) {
      case FieldKind::kMessage: {
        const char end = cursor_.peek() == '<' ? '>' : '}';
        if (!cursor_.accept('{') && !cursor_.accept('<')) {
          return fail(fmt::format("expected '{{' before the fields of '{}'", name(field)));
        }
        bool good = true;
        out.message(field,
                    [&](Writer& inner) { good = read_fields(field.message_type(), inner, end); });
        return good;
      }
      case FieldKind::kString:
      case FieldKind::kBytes: {
        std::string text;
        if (!read_string(text)) return false;
        out.text(field, text, true);
        return true;
      }
      case FieldKind::kFloat:
      case FieldKind::kDouble: {
        double value = 0;
        if (!read_real(value)) return false;
        out.real(field, value, true);
        return true;
      }
      default: {
        int64_t value = 0;
        if (!read_integer(field, value)) return false;
        out.integer(field, value, true);
        return true;
      }
    }
  }

  // Strings that follow one another are one.
  bool read_string(std::string& text) {
    if (cursor_.peek() != '"' && cursor_.peek() != '\'') return fail("expected a string");
    std::string piece;
    while (cursor_.peek() == '"' || cursor_.peek() == '\'') {
      const size_t place = cursor_.offset();
      std::string_view inside;
      if (!cursor_.string(inside)) return fail_at(place, 1, "nothing closes this string");
      piece.clear();
      if (!unescape(inside, piece)) {
        return fail_at(place, inside.size() + 2, "the string has a malformed escape");
      }
      text += piece;
    }
    return true;
  }

  bool read_real(double& value) {
    const size_t place = cursor_.offset();
    std::string_view word = cursor_.word();
    const bool negative = word.starts_with('-');
    std::string_view digits = negative ? word.substr(1) : word;
    if (digits == "inf" || digits == "infinity") {
      value = std::numeric_limits<double>::infinity();
    } else if (digits == "nan") {
      value = std::numeric_limits<double>::quiet_NaN();
    } else {
      const char* const end = digits.data() + digits.size();
      auto [behind, error] = std::from_chars(digits.data(), end, value);
      const bool rest = behind == end || (behind + 1 == end && (*behind | 0x20) == 'f');
      if (digits.empty() || error != std::errc() || !rest) {
        return fail_at(place, word.size(), "expected a number");
      }
    }
    if (negative) value = -value;
    return true;
  }

  bool read_integer(const Field& field, int64_t& value) {
    const size_t place = cursor_.offset();
    std::string_view word = cursor_.word();
    if (field.kind == FieldKind::kEnum) {
      if (auto number = value_number(field.enum_type(), word)) {
        value = *number;
        return true;
      }
    }
    if (field.kind == FieldKind::kBool && (word == "true" || word == "True" || word == "t")) {
      value = 1;
      return true;
    }
    if (field.kind == FieldKind::kBool && (word == "false" || word == "False" || word == "f")) {
      value = 0;
      return true;
    }
    const bool negative = word.starts_with('-');
    std::string_view digits = negative ? word.substr(1) : word;
    int base = 10;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      base = 16;
      digits.remove_prefix(2);
    }
    uint64_t number = 0;
    const char* const end = digits.data() + digits.size();
    auto [behind, error] = std::from_chars(digits.data(), end, number, base);
    if (digits.empty() || error != std::errc() || behind != end) {
      return fail_at(place, word.size(),
                     field.kind == FieldKind::kEnum
                         ? fmt::format("{} has no value '{}'", name(field.enum_type()), word)
                         : fmt::format("expected a number for '{}'", name(field)));
    }
    value = static_cast<int64_t>(negative ? -number : number);
    const bool narrow = field.kind == FieldKind::kInt32 || field.kind == FieldKind::kEnum;
    if (narrow && value != static_cast<int32_t>(value)) {
      return fail_at(place, word.size(),
                     fmt::format("the number for '{}' does not fit 32 bits", name(field)));
    }
    return true;
  }

  // Whatever stands behind the name of an unknown field.
  bool skip_value() {
    cursor_.accept(':');
    std::string closing;  // what must close what is open
    do {
      const char c = cursor_.peek();
      std::string_view inside;
      if (c == '{' || c == '<' || c == '[') {
        closing += c == '{' ? '}' : c == '<' ? '>' : ']';
        cursor_.accept(c);
      } else if (!closing.empty() && c == closing.back()) {
        closing.pop_back();
        cursor_.accept(c);
      } else if (c == '"' || c == '\'') {
        if (!cursor_.string(inside)) return fail("nothing closes this string");
      } else if (is_word_character(c)) {
        cursor_.word();
      } else if (closing.empty() || cursor_.at_end() || !cursor_.accept(c)) {
        return fail("expected a value");
      }
    } while (!closing.empty());
    // Strings that follow one another are one.
    std::string_view inside;
    while (cursor_.peek() == '"' || cursor_.peek() == '\'') {
      if (!cursor_.string(inside)) return fail("nothing closes this string");
    }
    return true;
  }

  const Source& source_;
  Diagnostics& diagnostics_;
  Cursor cursor_;
  int depth_ = 0;
};

}  // namespace
}  // namespace proto

bool looks_like_proto_text(std::string_view text) {
  proto::Cursor cursor(text);
  const std::string_view word = cursor.word();
  const bool known = std::any_of(std::begin(proto::kFiles), std::end(proto::kFiles),
                                 [&](proto::MessageId file) { return find_field(file, word); });
  if (!known) return false;
  if (cursor.accept(':')) return true;
  if (cursor.peek() == '<') return true;
  // A computation of HLO text may have such a name, too; its first instruction has an = behind.
  if (!cursor.accept('{')) return false;
  if (cursor.peek() == '}' || cursor.peek() == '[') return true;
  return !cursor.word().empty() && (cursor.peek() == ':' || cursor.peek() == '{');
}

std::optional<std::string> proto_text_to_wire(const Source& source, Diagnostics& diagnostics) {
  const std::string_view word = proto::Cursor(source.text()).word();
  auto* file = std::find_if(std::begin(proto::kFiles), std::end(proto::kFiles),
                            [&](proto::MessageId one) { return find_field(one, word); });
  if (file == std::end(proto::kFiles)) file = proto::kFiles;
  std::string wire;
  if (!proto::TextReader(source, diagnostics).run(*file, wire)) return std::nullopt;
  return wire;
}

}  // namespace minihlo
