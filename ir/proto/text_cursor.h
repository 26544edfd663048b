// A cursor over an attribute that the IR keeps as text.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/text/lexer.h"
#include "ir/text/strings.h"

namespace minihlo::proto {

/// What is not as expected is said by false.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : lexer_(text) {}

  bool at(TokenKind kind) const { return lexer_.at(kind); }
  bool accept(TokenKind kind) {
    if (!at(kind)) return false;
    lexer_.advance();
    return true;
  }
  bool accept_key(std::string_view key) {
    return lexer_.current().text == key && accept(TokenKind::kKey);
  }
  bool key(std::string& text) { return take(TokenKind::kKey, text); }
  bool word(std::string& text) { return take(TokenKind::kWord, text); }
  bool string(std::string& text) {
    if (!at(TokenKind::kString)) return false;
    text.clear();
    if (!unescape(lexer_.current().text, text)) return false;
    lexer_.advance();
    return true;
  }
  bool integer(int64_t& value) {
    if (!at(TokenKind::kInteger)) return false;
    value = lexer_.current().integer;
    lexer_.advance();
    return true;
  }
  bool real(double& value) {
    if (!at(TokenKind::kInteger) && !at(TokenKind::kDecimal)) return false;
    std::string_view text = lexer_.current().text;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    lexer_.advance();
    return true;
  }
  // {1,0}
  bool integers(std::vector<int64_t>& values) {
    if (!accept(TokenKind::kLeftBrace)) return false;
    while (!accept(TokenKind::kRightBrace)) {
      if (!integer(values.emplace_back())) return false;
      accept(TokenKind::kComma);
    }
    return true;
  }
  // 2x4
  bool sizes(int64_t& first, int64_t& second) {
    std::vector<int64_t> values;
    if (!sizes(values) || values.size() != 2) return false;
    first = values[0];
    second = values[1];
    return true;
  }
  // 2x4x8, or a single number
  bool sizes(std::vector<int64_t>& values) {
    if (at(TokenKind::kInteger)) return integer(values.emplace_back());
    if (!at(TokenKind::kSizes)) return false;
    std::string_view text = lexer_.current().text;
    const char* const end = text.data() + text.size();
    for (const char* at = text.data();; ++at) {
      auto [behind, error] = std::from_chars(at, end, values.emplace_back());
      if (error != std::errc()) return false;
      if (behind == end) break;
      at = behind;  // the x
    }
    lexer_.advance();
    return true;
  }

 private:
  bool take(TokenKind kind, std::string& text) {
    if (!at(kind)) return false;
    text = lexer_.current().text;
    lexer_.advance();
    return true;
  }

  Lexer lexer_;
};

}  // namespace minihlo::proto
