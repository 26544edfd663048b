#include "ir/text/lexer.h"

#include <array>
#include <cctype>
#include <charconv>

#include "ir/element_type.h"
#include "ir/text/scan.h"
#include "ir/text_map.h"

namespace minihlo {

using namespace internal;  // of scan.h

namespace {

// The offset of the first quote, backslash or line's end at or behind `at`, or the text's end.
size_t skip_plain(std::string_view text, size_t at, char quote) {
  auto stops = [quote](auto c) { return (c == quote) | (c == '\\') | (c == '\n'); };
  return skip_until(text, at, stops, stops);
}

// The offset of the first character at or behind `at` that may end a value or change how the rest
// of it is read, or the text's end.
size_t skip_value(std::string_view text, size_t at) {
  // Brackets but for parentheses differ from braces in one bit; " ' ( ) , / lie close together.
  auto stops = [](auto c) {
    return ((c | 0x20) == '{') | ((c | 0x20) == '}') | ((c >= '"') & (c <= '/')) | (c < ' ');
  };
  return skip_until(text, at, stops, [&](char c) { return stops(static_cast<uint8_t>(c)); });
}

// Scanners of number forms: each returns the offset behind the form, or `begin` where it is not
// there.

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && is(text[at], kDigit)) ++at;
  return at;
}

size_t scan_decimal(std::string_view text, size_t begin) {
  size_t at = begin + (text[begin] == '-');
  size_t whole = skip_digits(text, at);
  size_t digits = whole - at;
  at = whole;
  bool decimal = false;
  if (at < text.size() && text[at] == '.') {
    size_t end = skip_digits(text, at + 1);
    digits += end - at - 1;
    decimal = digits > 0;
    if (decimal) at = end;
  }
  if (digits == 0) return begin;
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    size_t exponent = at + 1;
    if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
    size_t end = skip_digits(text, exponent);
    if (end > exponent) return end;
  }
  return decimal ? at : begin;
}

size_t scan_labels(std::string_view text, size_t begin) {
  auto part = [&](size_t at, std::string_view letters) {
    size_t start = at;
    while (at < text.size() && (is(text[at], kDigit) || letters.find(text[at]) != letters.npos)) {
      ++at;
    }
    return at >= start + 2 ? at : 0;
  };
  size_t at = part(begin, "bf?");
  if (at == 0 || at >= text.size() || text[at] != '_') return begin;
  at = part(at + 1, "io?");
  if (at == 0 || text.substr(at, 2) != "->") return begin;
  at = part(at + 2, "bf?");
  return at == 0 ? begin : at;
}

size_t scan_sizes(std::string_view text, size_t begin) {
  size_t at = skip_digits(text, begin);
  if (at == begin) return begin;
  size_t parts = 1;
  while (at < text.size() && text[at] == 'x') {
    size_t end = skip_digits(text, at + 1);
    if (end == at + 1) break;
    at = end;
    ++parts;
  }
  return parts > 1 ? at : begin;
}

size_t scan_padding(std::string_view text, size_t begin) {
  auto number = [&](size_t at) {
    size_t start = at + (at < text.size() && text[at] == '-');
    size_t end = skip_digits(text, start);
    return end > start ? end : 0;
  };
  auto group = [&](size_t at) -> size_t {  // low_high[_interior]
    at = number(at);
    if (at == 0 || at >= text.size() || text[at] != '_') return 0;
    at = number(at + 1);
    if (at != 0 && at < text.size() && text[at] == '_') {
      if (size_t end = number(at + 1)) at = end;
    }
    return at;
  };
  size_t at = group(begin);
  if (at == 0) return begin;
  while (at < text.size() && text[at] == 'x') {
    size_t end = group(at + 1);
    if (end == 0) break;
    at = end;
  }
  return at;
}

}  // namespace

inline void Lexer::finish(TokenKind kind, size_t begin, size_t end) {
  token_.kind = kind;
  token_.offset = static_cast<uint32_t>(begin);
  token_.length = static_cast<uint32_t>(end - begin);
  token_.text = {text_.data() + begin, end - begin};
  position_ = end;
}

std::string_view to_string(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEnd:
      return "the end of the text";
    case TokenKind::kInvalid:
      return "something that is no token";
    case TokenKind::kWord:
      return "a word";
    case TokenKind::kName:
      return "a name";
    case TokenKind::kKey:
      return "an attribute name followed by '='";
    case TokenKind::kLabel:
      return "a name followed by ':'";
    case TokenKind::kInteger:
      return "an integer";
    case TokenKind::kDecimal:
      return "a number";
    case TokenKind::kDimLabels:
      return "dimension labels";
    case TokenKind::kSizes:
      return "sizes such as 3x3";
    case TokenKind::kPadding:
      return "padding such as 0_1x2_3";
    case TokenKind::kString:
      return "a string";
    case TokenKind::kEqual:
      return "'='";
    case TokenKind::kComma:
      return "','";
    case TokenKind::kColon:
      return "':'";
    case TokenKind::kStar:
      return "'*'";
    case TokenKind::kHash:
      return "'#'";
    case TokenKind::kPlus:
      return "'+'";
    case TokenKind::kTilde:
      return "'~'";
    case TokenKind::kQuestion:
      return "'?'";
    case TokenKind::kLeftSquare:
      return "'['";
    case TokenKind::kRightSquare:
      return "']'";
    case TokenKind::kLeftBrace:
      return "'{'";
    case TokenKind::kRightBrace:
      return "'}'";
    case TokenKind::kLeftParen:
      return "'('";
    case TokenKind::kRightParen:
      return "')'";
    case TokenKind::kDots:
      return "'...'";
    case TokenKind::kLessEqual:
      return "'<='";
    case TokenKind::kArrow:
      return "'->'";
  }
  return "";
}

void Lexer::invalid(size_t begin, size_t end, const char* rule, const char* problem) {
  finish(TokenKind::kInvalid, begin, end);
  problem_rule_ = rule;
  problem_ = problem;
}

// The offset is that of a slash.
size_t Lexer::skip_comments(size_t offset) const {
  for (;;) {
    while (offset < text_.size() && is(text_[offset], kBlank)) ++offset;
    if (offset + 1 >= text_.size() || text_[offset] != '/') return offset;
    size_t end;
    if (text_[offset + 1] == '*') {
      end = text_.find("*/", offset + 2);
      if (end == text_.npos) return offset;
      offset = end + 2;
    } else if (text_[offset + 1] == '/') {
      end = text_.find_first_of("\r\n", offset + 2);
      offset = end == text_.npos ? text_.size() : end + 1;
    } else {
      return offset;
    }
  }
}

Token Lexer::peek() const {
  Lexer copy = *this;
  copy.advance();
  return copy.current();
}

bool Lexer::read_integers(char close, std::vector<int64_t>& values) {
  const size_t before = values.size();
  for (size_t at = position_;; ++at) {
    while (at_offset(at) == ' ') ++at;
    const size_t begin = at;
    constexpr size_t kShort = 18;  // digits that fit for certain
    int64_t value = 0;
    for (; is(at_offset(at), kDigit) && at < begin + kShort; ++at) {
      value = value * 10 + (text_[at] - '0');
    }
    const char next = at_offset(at);
    if (at == begin || (next != ',' && next != close)) break;
    values.push_back(value);
    if (next == close) {
      jump(at + 1);
      return true;
    }
  }
  values.resize(before);
  return false;
}

size_t Lexer::end_of_value() const {
  constexpr size_t kLongest = 4096;
  const std::string_view text = text_.substr(0, token_.offset + kLongest);
  int depth = 0;
  for (size_t at = token_.offset; at < text.size(); ++at) {
    at = skip_value(text, at);
    if (at == text.size()) break;
    switch (text[at]) {
      case '(':
      case '[':
      case '{':
        ++depth;
        break;
      case ')':
      case ']':
      case '}':
        if (depth == 0) return at;
        --depth;
        break;
      case ',':
        // Behind a mesh, axes of it may stand.
        if (depth == 0 && text.substr(at, 3) != ", {") return at;
        break;
      case '"':
      case '\'': {
        const char quote = text[at];
        for (++at;;) {
          at = skip_plain(text, at, quote);
          if (at >= text.size() || text[at] == '\n') return text.npos;
          if (text[at] == quote) break;
          at += 2;  // a backslash and what it escapes
        }
        break;
      }
      case '\r':
      case '\n':
        return depth == 0 ? at : text.npos;
      case '/':
        return text.npos;
      default:
        break;
    }
  }
  return text.npos;
}

[[gnu::always_inline]] inline void Lexer::lex_word(size_t begin) {
  const size_t end = end_of_word(text_, begin + 1);
  char next = at_offset(end);
  if (next == ':' || next == '=') {
    finish(next == ':' ? TokenKind::kLabel : TokenKind::kKey, begin, end + 1);
    token_.text.remove_suffix(1);
    return;
  }
  // Labels may start with a letter: bf_io->bf.
  if (next == '?' || (next == '>' && end > begin + 1 && text_[end - 1] == '-')) {
    if (size_t labels = scan_labels(text_, begin); labels > begin) {
      finish(TokenKind::kDimLabels, begin, labels);
      return;
    }
  }
  finish(TokenKind::kWord, begin, end);
}

void Lexer::lex_number(size_t begin) {
  // Most numbers are integers in front of something that no form of number goes on with.
  const bool minus = text_[begin] == '-';
  const size_t first_digit = begin + minus;
  constexpr size_t kShort = 18;  // digits that fit for certain
  uint64_t value = 0;
  size_t at = first_digit;
  for (; at < text_.size() && is(text_[at], kDigit) && at < first_digit + kShort; ++at) {
    value = value * 10 + static_cast<uint64_t>(text_[at] - '0');
  }
  if (at > first_digit && at < text_.size() && text_[at] != '?' && !is(text_[at], kWordPart)) {
    finish(TokenKind::kInteger, begin, at);
    token_.integer = minus ? -static_cast<int64_t>(value) : static_cast<int64_t>(value);
    return;
  }
  if (text_.substr(begin, 2) == "->") return finish(TokenKind::kArrow, begin, begin + 2);
  if (text_[begin] == '?') {
    size_t end = scan_labels(text_, begin);
    return end > begin ? finish(TokenKind::kDimLabels, begin, end)
                       : finish(TokenKind::kQuestion, begin, begin + 1);
  }
  if (size_t end = scan_decimal(text_, begin); end > begin) {
    return finish(TokenKind::kDecimal, begin, end);
  }
  if (size_t end = scan_labels(text_, begin); end > begin) {
    return finish(TokenKind::kDimLabels, begin, end);
  }
  if (size_t end = scan_sizes(text_, begin); end > begin) {
    return finish(TokenKind::kSizes, begin, end);
  }
  if (size_t end = scan_padding(text_, begin); end > begin) {
    return finish(TokenKind::kPadding, begin, end);
  }
  bool negative = text_[begin] == '-';
  size_t end = skip_digits(text_, begin + negative);
  if (end > begin + negative) {
    finish(TokenKind::kInteger, begin, end);
    const char* first = text_.data() + begin;
    const char* last = text_.data() + end;
    auto [_, error] = std::from_chars(first, last, token_.integer);
    if (error == std::errc()) return;
    uint64_t bits;
    if (!negative && std::from_chars(first, last, bits).ec == std::errc()) {
      token_.integer = static_cast<int64_t>(bits);
      return;
    }
    return invalid(begin, end, "number-out-of-range", "the integer does not fit 64 bits");
  }
  if (negative && text_.substr(begin + 1, 3) == "inf") {
    return finish(TokenKind::kDecimal, begin, begin + 4);
  }
  if (negative && text_.substr(begin + 1, 3) == "nan") {
    end = begin + 4;
    if (text_.substr(end, 3) == "(0x") {
      size_t close = end + 3;
      while (std::isxdigit(static_cast<unsigned char>(at_offset(close)))) ++close;
      if (at_offset(close) == ')') end = close + 1;
    }
    return finish(TokenKind::kDecimal, begin, end);
  }
  invalid(begin, begin + 1, "invalid-character", "this character does not start a token");
}

void Lexer::lex_string(size_t begin) {
  const char quote = text_[begin];
  bool escaped = false;
  bool several_lines = false;
  size_t end = begin + 1;
  for (;; ++end) {
    end = skip_plain(text_, end, quote);
    if (end >= text_.size() || text_[end] == quote) break;
    several_lines |= text_[end] == '\n';
    if (text_[end] == '\\') {
      escaped = true;
      ++end;
      several_lines |= at_offset(end) == '\n';
    }
  }
  if (end >= text_.size()) {
    return invalid(begin, begin + 1, "unfinished-string", "the string that starts here has no end");
  }
  finish(TokenKind::kString, begin, end + 1);
  if (several_lines) long_string_ = begin;
  token_.text = text_.substr(begin + 1, end - begin - 1);
  token_.escaped = escaped;
}

void Lexer::advance() {
  previous_end_ = position_;
  const size_t begin = skip_blank(position_);
  if (begin >= text_.size()) return finish(TokenKind::kEnd, text_.size(), text_.size());
  const char c = text_[begin];
  if (is(c, kWordStart)) return lex_word(begin);
  if (is(c, kDigit)) return lex_number(begin);
  auto single = [&](TokenKind kind) { finish(kind, begin, begin + 1); };
  switch (c) {
    case '%': {
      if (!is(at_offset(begin + 1), kWordStart)) {
        return invalid(begin, begin + 1, "invalid-name", "a name must follow '%'");
      }
      const size_t end = end_of_word(text_, begin + 2);
      finish(TokenKind::kName, begin, end);
      token_.text.remove_prefix(1);
      return;
    }
    case '-':
    case '?':
      return lex_number(begin);
    case '"':
    case '\'':
      return lex_string(begin);
    case ',':
      return single(TokenKind::kComma);
    case '=':
      return single(TokenKind::kEqual);
    case ':':
      return single(TokenKind::kColon);
    case '{':
      return single(TokenKind::kLeftBrace);
    case '}':
      return single(TokenKind::kRightBrace);
    case '(':
      return single(TokenKind::kLeftParen);
    case ')':
      return single(TokenKind::kRightParen);
    case '[':
      return single(TokenKind::kLeftSquare);
    case ']':
      return single(TokenKind::kRightSquare);
    case '*':
      return single(TokenKind::kStar);
    case '#':
      return single(TokenKind::kHash);
    case '+':
      return single(TokenKind::kPlus);
    case '~':
      return single(TokenKind::kTilde);
    case '<':
      if (at_offset(begin + 1) == '=') return finish(TokenKind::kLessEqual, begin, begin + 2);
      break;
    case '.':
      if (text_.substr(begin, 3) == "...") return finish(TokenKind::kDots, begin, begin + 3);
      break;
    case '/':
      if (at_offset(begin + 1) == '*') {
        // Nothing behind it can be read, so the rest is this token.
        invalid(begin, begin + 2, "unfinished-comment", "the comment that starts here has no end");
        position_ = text_.size();
        return;
      }
      break;
    default:
      break;
  }
  invalid(begin, begin + 1, "invalid-character", "this character does not start a token");
}

namespace {

class ReservedWords {
 public:
  ReservedWords() {
    for (const char* word : {"true",
                             "false",
                             "inf",
                             "nan",
                             "HloModule",
                             "ENTRY",
                             "ROOT",
                             "maximal",
                             "replicated",
                             "manual",
                             "unreduced",
                             "shard_as",
                             "shard_like",
                             "unknown",
                             "FileNames",
                             "FunctionNames",
                             "token",
                             "opaque",
                             "last_tile_dim_replicate",
                             "StackFrames",
                             "FileLocations"}) {
      add(word);
    }
    for (const ElementTypeInfo& type : kElementTypes) add(type.text);
  }
  bool contains(std::string_view word) const {
    // Almost every name differs from all of them in its first character or length.
    return word.size() < 32 && (lengths_[static_cast<unsigned char>(word[0])] >> word.size() & 1) &&
           words_.find(word) != nullptr;
  }

 private:
  void add(std::string_view word) {
    words_.insert(word, {});
    lengths_[static_cast<unsigned char>(word[0])] |= uint32_t{1} << word.size();
  }

  struct Nothing {};
  TextMap<Nothing> words_;
  std::array<uint32_t, 256> lengths_{};
};

}  // namespace

bool is_reserved_word(std::string_view word) {
  static const auto* const words = new ReservedWords;
  return !word.empty() && words->contains(word);
}

}  // namespace minihlo
