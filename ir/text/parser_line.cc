// Parts of an instruction's line that are taken without tokens: what was read before, and plain
// lists of operands. Where anything is out of the ordinary they change nothing, and the tokens are
// looked at.
#include <array>
#include <cstring>

#include "ir/text/scan.h"
#include "ir/text/text_parser.h"

namespace minihlo::internal {
namespace {

// Texts beyond these lengths are not looked up. A module may be one line.
constexpr size_t kLongestHead = 128;
constexpr size_t kLongestTail = 1024;

// The offset of the first control character at or behind `at`, or the text's end.
size_t end_of_line(std::string_view text, size_t at) {
  return skip_until(
      text, at, [](Block c) { return c < ' '; },
      [](char c) { return static_cast<unsigned char>(c) < ' '; });
}

// Whether what the attribute means is told by its text and the opcode alone.
bool depends_on_text_alone(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kComputation:
    case AttributeKind::kComputations:
    case AttributeKind::kInstructions:
    case AttributeKind::kLiteral:
      return false;
    default:
      return true;
  }
}

// Whether there is no use in looking for an instruction of this opcode that is written alike: it
// names a computation, or the parser changes what it reads by what else it knows.
bool is_never_alike(Opcode opcode) {
  static const auto never = [] {
    std::array<bool, kOpcodeCount> row{};
    for (size_t i = 0; i < row.size(); ++i) {
      const OpcodeInfo& of = info(static_cast<Opcode>(i));
      row[i] = of.family == Family::kAsync;
      for (const AttributeUse& use : of.attributes) {
        row[i] = row[i] || (use.required && info(use.id).kind == AttributeKind::kComputation);
      }
    }
    return row;
  }();
  return never[static_cast<size_t>(opcode)];
}

}  // namespace

bool TextParser::recall_head(Draft& draft) {
  constexpr std::string_view kEquals = " = ";
  const size_t begin = token().end() + kEquals.size();
  const std::string_view text = lexer_.text().substr(0, begin + kLongestHead);
  if (!at(TokenKind::kName) || text.size() <= begin ||
      std::memcmp(text.data() + token().end(), kEquals.data(), kEquals.size()) != 0) {
    return false;
  }
  const size_t end = skip_until(
      text, begin, [](Block c) { return c == '('; }, [](char c) { return c == '('; });
  if (end == begin || end == text.size()) return false;
  const std::string_view head = text.substr(begin, end - begin);
  const KnownHead& known = heads_[hash_text(head) & (heads_.size() - 1)];
  if (!same_text(known.text, head)) return false;
  draft.name = token();
  draft.shape = known.shape;
  draft.opcode = known.opcode;
  const std::string_view word = to_string(known.opcode);
  draft.opcode_token.kind = TokenKind::kWord;
  draft.opcode_token.offset = static_cast<uint32_t>(end - word.size());
  draft.opcode_token.length = static_cast<uint32_t>(word.size());
  draft.opcode_token.text = word;
  lexer_.jump(end);
  return true;
}

void TextParser::remember_head(size_t begin, const Draft& draft) {
  if (draft.async != Draft::Async::kNone || !at(TokenKind::kLeftParen)) return;
  const size_t end = token().offset;
  if (end != draft.opcode_token.end() || end - begin >= kLongestHead) return;
  const std::string_view head = lexer_.text().substr(begin, end - begin);
  heads_[hash_text(head) & (heads_.size() - 1)] = {head, draft.shape, draft.opcode};
}

bool TextParser::read_plain_number(Token& number) {
  constexpr size_t kMostDigits = 9;
  const std::string_view text = lexer_.text();
  const size_t begin = token().end();
  int64_t value = 0;
  size_t at = begin;
  for (; at < text.size() && is(text[at], kDigit) && at < begin + kMostDigits; ++at) {
    value = value * 10 + (text[at] - '0');
  }
  if (!this->at(TokenKind::kLeftParen) || at == begin || at == text.size() || text[at] != ')') {
    return false;
  }
  number.kind = TokenKind::kInteger;
  number.offset = static_cast<uint32_t>(begin);
  number.length = static_cast<uint32_t>(at - begin);
  number.integer = value;
  lexer_.jump(at + 1);
  return true;
}

bool TextParser::read_plain_operands(std::vector<Instruction*>& operands) {
  const std::string_view text = lexer_.text();
  auto character = [&](size_t at) { return at < text.size() ? text[at] : '\0'; };
  for (size_t at = token().end();;) {
    at = lexer_.skip_blank(at);
    const bool sigil = character(at) == '%';
    const size_t begin = at + sigil;
    if (!is(character(begin), kWordStart)) break;
    const size_t end = end_of_word(text, begin + 1);
    const std::string_view name = text.substr(begin, end - begin);
    const auto* found = scope().names.find(name);
    if (!found || !found->value || (!sigil && is_reserved_word(name))) break;
    const char next = character(end);
    if (next != ',' && next != ')') break;
    operands.push_back(found->value);
    at = end + 1;
    if (next == ')') {
      lexer_.jump(at);
      return true;
    }
  }
  operands.clear();
  return false;
}

bool TextParser::recall_attributes(Draft& draft, std::vector<Attribute>& attributes) {
  if (!at(TokenKind::kComma) || draft.async != Draft::Async::kNone ||
      is_never_alike(draft.opcode)) {
    return false;
  }
  const size_t begin = token().offset;
  const std::string_view text = lexer_.text().substr(0, begin + kLongestTail);
  const size_t end = end_of_line(text, begin);
  if (end == text.size()) return false;
  draft.tail = text.substr(begin, end - begin);
  draft.tail_hash = hash_text(draft.tail) + static_cast<uint32_t>(draft.opcode);
  const KnownTail& known = tails_[draft.tail_hash & (tails_.size() - 1)];
  if (known.opcode != draft.opcode || !same_text(known.text, draft.tail)) return false;
  attributes.insert(attributes.end(), known.attributes.begin(), known.attributes.end());
  draft.tail = {};
  lexer_.jump(end);
  return true;
}

void TextParser::remember_attributes(const Draft& draft, std::span<const Attribute> attributes) {
  if (draft.tail.empty()) return;
  // They may have gone on behind the line's end.
  const char* const read_to = lexer_.text().data() + lexer_.previous_end();
  if (read_to != draft.tail.data() + draft.tail.size()) return;
  for (const Attribute& attribute : attributes) {
    if (!depends_on_text_alone(info(attribute.id).kind)) return;
  }
  tails_[draft.tail_hash & (tails_.size() - 1)] = {draft.tail, attributes, draft.opcode};
}

}  // namespace minihlo::internal
