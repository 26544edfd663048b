// Where to go on after an error.
#include <algorithm>
#include <cctype>

#include "ir/text/text_parser.h"

namespace minihlo::internal {
namespace {

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
}

// Whether a line looks like `[ROOT] [%]name = ...`.
bool starts_instruction(std::string_view line) {
  auto skip_blanks = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  };
  skip_blanks();
  if (line.starts_with("ROOT ")) line.remove_prefix(5);
  skip_blanks();
  if (line.starts_with('%')) line.remove_prefix(1);
  size_t end = 0;
  while (end < line.size() && is_name_character(line[end])) ++end;
  if (end == 0) return false;
  line.remove_prefix(end);
  const size_t blanks = std::min(line.find_first_not_of(" \t"), line.size());
  return blanks > 0 && line.substr(blanks).starts_with('=');
}

}  // namespace

void TextParser::skip_to_instruction(uint32_t from) {
  std::string_view text = lexer_.text();
  size_t at = std::max(token().offset, from);
  // A string that runs over several lines most likely lacks its end.
  if (lexer_.long_string() > from && lexer_.long_string() < at) at = lexer_.long_string();
  // Each level of what nests may come here, and the last line may be the whole text.
  if (at >= text.size()) return lexer_.jump(text.size());
  size_t line = text.rfind('\n', at);
  line = line == text.npos ? 0 : line + 1;
  bool first_of_line = text.substr(line, at - line).find_first_not_of(" \t") == text.npos;
  if (!first_of_line || at <= from) {
    line = text.find('\n', at);
    if (line == text.npos) return lexer_.jump(text.size());
    ++line;
  }
  while (line < text.size()) {
    size_t end = std::min(text.find('\n', line), text.size());
    std::string_view row = text.substr(line, end - line);
    size_t first = row.find_first_not_of(" \t");
    if (first != row.npos && (row[first] == '}' || starts_instruction(row))) {
      return lexer_.jump(line + first);
    }
    line = end + 1;
  }
  lexer_.jump(text.size());
}

void TextParser::skip_to_computation() {
  std::string_view text = lexer_.text();
  size_t line = text.rfind('\n', token().offset);
  line = line == text.npos ? token().offset : line + 1;
  if (line < token().offset) line = std::min(text.find('\n', token().offset), text.size() - 1) + 1;
  while (line < text.size()) {
    size_t end = std::min(text.find('\n', line), text.size());
    std::string_view row = text.substr(line, end - line);
    if (row.starts_with('}')) return lexer_.jump(end);
    // A row of a table of stack frames starts with its number.
    if (!row.empty() && row[0] != ' ' && row[0] != '\t' && (row[0] < '0' || row[0] > '9') &&
        row.find(" {") != row.npos) {
      return lexer_.jump(line);
    }
    line = end + 1;
  }
  lexer_.jump(text.size());
}

}  // namespace minihlo::internal
