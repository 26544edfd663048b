#include "ir/json/text_checks.h"

#include <string>

#include "ir/text/lexer.h"
#include "ir/text/unique_names.h"

namespace minihlo::internal {
namespace {

// Whether the lexer takes all of `text` for one token of this kind that stands for `value`.
bool is_token(const std::string& text, TokenKind kind, std::string_view value) {
  const Token token = Lexer(text).current();
  return token.kind == kind && token.text == value && token.length == text.size();
}

}  // namespace

bool is_name(std::string_view text) {
  return is_token('%' + std::string(text), TokenKind::kName, text) && is_allowed_name(text);
}

bool is_module_name(std::string_view text) { return is_name(text) && !is_reserved_word(text); }

bool is_key(std::string_view text) {
  return is_token(std::string(text) + '=', TokenKind::kKey, text);
}

bool is_list_word(std::string_view text) {
  return is_token(std::string(text), TokenKind::kWord, text);
}

bool is_word(std::string_view text) {
  return !text.empty() && text.find_first_of(", \t\r\n(){}\"'") == std::string_view::npos;
}

bool is_dim_labels(std::string_view text) {
  return is_token(std::string(text), TokenKind::kDimLabels, text);
}

}  // namespace minihlo::internal
