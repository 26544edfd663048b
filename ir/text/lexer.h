// Splits HLO text into tokens (xla/hlo/parser/hlo_lexer.cc). Tokens are views into the text;
// nothing is copied or allocated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/instruction.h"

namespace minihlo {

enum class TokenKind : uint8_t {
  kEnd,
  kInvalid,    // see Lexer::problem()
  kWord,       // add, f32, ENTRY, a.b-c
  kName,       // %add.1; the text is without %
  kKey,        // dimensions= with nothing between; the text is without =
  kLabel,      // x: with nothing between; the text is without :
  kInteger,    // -12
  kDecimal,    // 1.5, 1e5, -inf, -nan, -nan(0x1)
  kDimLabels,  // b01f_01io->b01f
  kSizes,      // 3x3
  kPadding,    // 0_0x-1_2_1
  kString,     // "..." or '...'; the text is without the quotes, escapes as written
  kEqual,
  kComma,
  kColon,
  kStar,
  kHash,
  kPlus,
  kTilde,
  kQuestion,
  kLeftSquare,
  kRightSquare,
  kLeftBrace,
  kRightBrace,
  kLeftParen,
  kRightParen,
  kDots,       // ...
  kLessEqual,  // <=
  kArrow,      // ->
};

/// What a kind of token is called in messages: "a name", "','".
std::string_view to_string(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::kEnd;
  bool escaped = false;  // kString: a backslash occurs
  uint32_t offset = 0;
  uint32_t length = 0;  // with sigils and quotes
  std::string_view text;
  int64_t integer = 0;  // kInteger; values above 2^63-1 as their bits, as XLA takes them

  Location location() const { return {offset, length}; }
  uint32_t end() const { return offset + length; }
};

/// A cursor with one token under it.
class Lexer {
 public:
  /// `text` must be shorter than 4 GiB.
  explicit Lexer(std::string_view text) : text_(text) { advance(); }

  std::string_view text() const { return text_; }
  const Token& current() const { return token_; }
  bool at(TokenKind kind) const { return token_.kind == kind; }
  void advance();
  /// Puts the token that starts at or behind `offset` under the cursor.
  void jump(size_t offset) {
    position_ = offset;
    advance();
  }
  /// Reads what is behind the current token, an opening bracket, without making tokens, if it is
  /// the common form of a list: whole numbers without signs, commas between them, and `close`.
  /// Then adds them to `values` and steps over the list. Otherwise false, and nothing is changed.
  bool read_integers(char close, std::vector<int64_t>& values);
  /// The offset behind the value that starts with the current token: at the comma, line's end or
  /// closing bracket that ends it. npos where that is not plain: behind a comment, a line's end in
  /// the value, or thousands of characters.
  size_t end_of_value() const;
  /// The token behind the current one.
  Token peek() const;
  /// The character at which the token behind the current one starts; 0 at the end of the text.
  char next_character() const { return at_offset(skip_blank(position_)); }

  /// The offset of the first character at or behind `offset` that is neither blank nor comment.
  size_t skip_blank(size_t offset) const {
    while (offset < text_.size() && (text_[offset] == ' ' || is_line_blank(text_[offset])))
      ++offset;
    if (offset >= text_.size() || text_[offset] != '/') return offset;
    return skip_comments(offset);
  }

  /// Behind the token that was current before this one.
  size_t previous_end() const { return previous_end_; }

  /// Where the last string began that runs over several lines; 0 if none did.
  size_t long_string() const { return long_string_; }

  /// Why the current kInvalid token is none, and the name of the rule.
  const char* problem() const { return problem_; }
  const char* problem_rule() const { return problem_rule_; }

 private:
  void lex_word(size_t begin);
  void lex_number(size_t begin);
  void lex_string(size_t begin);
  size_t skip_comments(size_t offset) const;
  static bool is_line_blank(char c) { return c == '\n' || c == '\r' || c == '\t'; }
  void finish(TokenKind kind, size_t begin, size_t end);
  void invalid(size_t begin, size_t end, const char* rule, const char* problem);
  char at_offset(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }

  std::string_view text_;
  size_t position_ = 0;
  size_t previous_end_ = 0;
  size_t long_string_ = 0;
  Token token_;
  const char* problem_ = "";
  const char* problem_rule_ = "";
};

/// Whether `word` can't be a bare name: a keyword or an element type.
bool is_reserved_word(std::string_view word);

}  // namespace minihlo
