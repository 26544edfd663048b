#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/text/scan.h"
#include "ir/text/text_parser.h"

namespace minihlo::internal {
namespace {

enum : uint8_t { kOfDimensions = 1, kOfTuple = 2 };

// Characters of what stands between the square brackets of a shape, and of arrays in a tuple.
constexpr std::array<uint8_t, 256> kShapeClasses = [] {
  std::array<uint8_t, 256> classes{};
  for (char c : std::string_view("0123456789,<=?")) {
    classes[static_cast<size_t>(c)] = kOfDimensions | kOfTuple;
  }
  for (size_t c = 'a'; c <= 'z'; ++c) classes[c] = classes[c - 'a' + 'A'] = kOfTuple;
  for (char c : std::string_view("[]{} \n:*#_")) classes[static_cast<size_t>(c)] = kOfTuple;
  return classes;
}();

size_t skip(std::string_view text, size_t at, uint8_t what) {
  while (at < text.size() && (kShapeClasses[static_cast<unsigned char>(text[at])] & what)) ++at;
  return at;
}

// The offset behind the text of an array shape whose type word ends at `at`, if it is written
// without blanks; else npos.
size_t end_of_plain_shape(std::string_view text, size_t at) {
  if (at >= text.size() || text[at] != '[') return text.npos;
  at = skip(text, at + 1, kOfDimensions);
  if (at >= text.size() || text[at] != ']') return text.npos;
  ++at;
  // Blanks may stand before a layout, and before its first number. Where a body follows instead, a
  // name or a brace stands there.
  auto skip_blanks = [&](size_t from) {
    while (from < text.size() && text[from] <= ' ') ++from;
    return from;
  };
  const size_t brace = skip_blanks(at);
  if (brace < text.size() && text[brace] == '/') return text.npos;  // a comment
  if (brace + 1 >= text.size() || text[brace] != '{') return at;
  const size_t first = skip_blanks(brace + 1);
  if (first == text.size()) return at;
  const char c = text[first];
  if (c == '/' || c == '-') return text.npos;
  if (c != ':' && (c < '0' || c > '9')) return at;
  if (first > at + 1) return text.npos;
  while (at < text.size() && text[at] != '}' && text[at] != '\n') ++at;
  return at >= text.size() || text[at] != '}' ? text.npos : at + 1;
}

// The offset behind the parenthesis that closes the one at `at`, if nothing stands between them
// but what shapes are made of and comments that count elements; else npos.
size_t end_of_plain_tuple(std::string_view text, size_t at) {
  size_t depth = 0;
  for (; at < text.size(); at = skip(text, at, kOfTuple)) {
    constexpr std::string_view kComment = "/*index=";
    if (text[at] == '(') {
      ++depth;
      ++at;
    } else if (text[at] == ')') {
      ++at;
      if (--depth == 0) return at;
    } else if (text.substr(at, kComment.size()) == kComment) {
      at += kComment.size();
      while (at < text.size() && text[at] >= '0' && text[at] <= '9') ++at;
      if (text.substr(at, 2) != "*/") return text.npos;
      at += 2;
    } else {
      return text.npos;
    }
  }
  return text.npos;
}

std::vector<std::string_view> shape_words() {
  std::vector<std::string_view> words{"token", "opaque"};
  for (const ElementTypeInfo& type : kElementTypes) words.push_back(type.text);
  return words;
}

}  // namespace

bool TextParser::at_shape() const {
  if (at(TokenKind::kLeftParen)) return true;
  if (!at(TokenKind::kWord)) return false;
  size_t next = token().end();
  std::string_view text = lexer_.text();
  if (next < text.size() && text[next] == '[') return true;
  if (token().text == "b") return lexer_.next_character() == '(';
  return is_reserved_word(token().text) && lexer_.next_character() == '[';
}

bool TextParser::parse_shape(const Shape*& shape) {
  if (at(TokenKind::kWord)) {
    const Token type_token = token();
    const size_t end = end_of_plain_shape(lexer_.text(), type_token.end());
    if (recall_shape(end, shape)) return true;
    std::string_view word = type_token.text;
    if (word == "token" || word == "opaque") {
      lexer_.advance();
      if (!expect(TokenKind::kLeftSquare, "behind the type") ||
          !expect(TokenKind::kRightSquare, "behind '['")) {
        return false;
      }
      shape = word == "token" ? module_->shapes().token() : module_->shapes().opaque();
      return true;
    }
    if (word == "b") {
      Nesting nesting(*this);
      lexer_.advance();
      const Shape* array;
      if (!nesting.ok() || !expect(TokenKind::kLeftParen, "behind 'b'")) return false;
      const Token inside = token();
      if (!parse_shape(array)) return false;
      if (!array->is_array()) {
        return fail("invalid-shape", inside.location(), "a buffer is made of an array shape");
      }
      shape = module_->shapes().buffer(array);
      return expect(TokenKind::kRightParen, "behind the buffer's shape");
    }
    std::optional<ElementType> type = element_type_from(word);
    if (!type) {
      fail("unknown-type", type_token.location(), fmt::format("there is no type '{}'", word));
      note_suggestion(word, shape_words());
      return false;
    }
    lexer_.advance();
    if (!parse_array_shape(*type, shape)) return false;
    remember_shape(type_token.offset, end, shape);
    return true;
  }
  if (!at(TokenKind::kLeftParen)) return fail_expected("a shape");
  // Tuples within tuples are not looked up: each would be searched for its end at every level.
  if (tuple_depth_ > 0) return parse_tuple_shape(shape);
  const uint32_t begin = token().offset;
  const size_t end = end_of_plain_tuple(lexer_.text(), begin);
  if (recall_shape(end, shape)) return true;
  if (!parse_tuple_shape(shape)) return false;
  remember_shape(begin, end, shape);
  return true;
}

bool TextParser::recall_shape(size_t end, const Shape*& shape) {
  if (end == std::string_view::npos) return false;
  const auto* found = shapes_.find(lexer_.text().substr(token().offset, end - token().offset));
  if (!found) return false;
  shape = found->value;
  lexer_.jump(end);
  return true;
}

bool TextParser::skip_plain_parameters() {
  const std::string_view text = lexer_.text();
  auto at_pair = [&](size_t at, char first, char second) {
    return at + 1 < text.size() && text[at] == first && text[at + 1] == second;
  };
  for (size_t at = token().offset;;) {
    if (at >= text.size() || !is(text[at], kWordStart)) return false;
    at = end_of_word(text, at + 1);
    if (!at_pair(at, ':', ' ')) return false;
    at += 2;
    const size_t end = end_of_plain_shape(text, end_of_word(text, at));
    if (end >= text.size() || !shapes_.find(text.substr(at, end - at))) return false;
    if (text[end] == ')') {
      lexer_.jump(end);
      return true;
    }
    if (!at_pair(end, ',', ' ')) return false;
    at = end + 2;
  }
}

void TextParser::remember_shape(size_t begin, size_t end, const Shape* shape) {
  if (end == std::string_view::npos || lexer_.skip_blank(end) != token().offset) return;
  shapes_.insert(lexer_.text().substr(begin, end - begin), shape);
}

bool TextParser::parse_tuple_shape(const Shape*& shape) {
  Nesting nesting(*this);
  if (!nesting.ok()) return false;
  const Token open = token();
  auto elements = shape_pool_.lease();
  auto element = [&] {
    const Shape* one;
    if (!parse_shape(one)) return false;
    elements->push_back(one);
    return true;
  };
  ++tuple_depth_;
  const bool ok =
      parse_list(TokenKind::kLeftParen, TokenKind::kRightParen, "around a tuple's shapes", element);
  --tuple_depth_;
  if (!ok) return false;
  shape = module_->shapes().tuple(*elements);
  if (!shape) {
    return fail("shape-too-large", open.location(), ShapePool::tuple_too_large());
  }
  return true;
}

bool TextParser::parse_array_shape(ElementType type, const Shape*& shape) {
  const Token open = token();
  std::vector<int64_t> dims;
  std::vector<uint8_t> dynamic;
  auto dimension = [&] {
    if (accept(TokenKind::kQuestion)) {
      dims.push_back(kUnboundedSize);
      dynamic.push_back(true);
      return true;
    }
    bool bounded = accept(TokenKind::kLessEqual);
    const Token place = token();
    int64_t size;
    if (!expect_int(size, "a dimension")) return false;
    if (size < 0) {
      return fail("negative-dimension", place.location(), "a dimension can't be negative");
    }
    dims.push_back(size);
    dynamic.push_back(bounded);
    return true;
  };
  if (!parse_list(TokenKind::kLeftSquare, TokenKind::kRightSquare, "around the dimensions",
                  dimension)) {
    return false;
  }
  Layout layout;
  std::vector<int64_t> order;
  std::string tiling, split;
  const Layout* written = nullptr;
  if (at(TokenKind::kLeftBrace)) {
    TokenKind next = lexer_.peek().kind;
    if (next == TokenKind::kInteger || next == TokenKind::kColon) {
      const Token brace = token();
      if (!parse_layout(layout, order, tiling, split)) return false;
      std::vector<uint8_t> seen(dims.size());
      bool is_order = order.size() == dims.size();
      for (int64_t dim : order) {
        is_order = is_order && dim >= 0 && static_cast<size_t>(dim) < dims.size() &&
                   !std::exchange(seen[static_cast<size_t>(dim)], 1);
      }
      if (!is_order) {
        return fail("invalid-layout", brace.location(),
                    fmt::format("{{{}}} does not order {} dimension{}", fmt::join(order, ","),
                                dims.size(), dims.size() == 1 ? "" : "s"));
      }
      written = &layout;
    }
  }
  std::unique_ptr<bool[]> flags(new bool[dynamic.size()]);
  std::copy(dynamic.begin(), dynamic.end(), flags.get());
  shape = module_->shapes().try_array(type, dims, {flags.get(), dynamic.size()}, written);
  if (!shape) {
    return fail(
        "shape-too-large", open.location(),
        fmt::format("an array of more than {} dimensions or 2^63 bytes", ShapePool::kMaxRank));
  }
  return true;
}

bool TextParser::parse_layout_number(int64_t& value) {
  lexer_.advance();
  return expect(TokenKind::kLeftParen, "in the layout") &&
         expect_int(value, "a number of the layout") &&
         expect(TokenKind::kRightParen, "in the layout");
}

bool TextParser::parse_layout(Layout& layout, std::vector<int64_t>& order, std::string& tiling,
                              std::string& split) {
  lexer_.advance();
  while (!at(TokenKind::kColon) && !at(TokenKind::kRightBrace)) {
    if (!order.empty() && !expect(TokenKind::kComma, "between dimensions of a layout")) {
      return false;
    }
    int64_t dim;
    if (!expect_int(dim, "a dimension of the layout")) return false;
    order.push_back(dim);
  }
  layout.minor_to_major = order;
  if (!accept(TokenKind::kColon)) return expect(TokenKind::kRightBrace, "behind the layout");

  // Each of these may be there, in this order.
  auto type_in_parens = [&](std::string_view& type) {
    lexer_.advance();
    if (!expect(TokenKind::kLeftParen, "in the layout")) return false;
    std::optional<ElementType> known = element_type_from(token().text);
    if (!at(TokenKind::kWord) || !known || !is_integer(*known)) {
      return fail_expected("an integer type");
    }
    type = token().text;
    lexer_.advance();
    return expect(TokenKind::kRightParen, "in the layout");
  };
  if (at_word("D")) {
    // Dimension level types: no version of the format gives them a meaning any more.
    lexer_.advance();
    auto level = [&] {
      if (!at_word("D") && !at_word("C") && !at_word("S") && !at_word("H")) {
        return fail_expected("a level type: D, C, S or H");
      }
      lexer_.advance();
      accept(TokenKind::kPlus);
      accept(TokenKind::kTilde);
      return true;
    };
    if (!parse_list(TokenKind::kLeftParen, TokenKind::kRightParen, "around the level types",
                    level)) {
      return false;
    }
  }
  if (accept_word("T")) {
    tiling = "T";
    do {
      std::vector<std::string> sizes;
      auto size = [&] {
        if (accept(TokenKind::kStar)) {
          sizes.emplace_back("*");
          return true;
        }
        const Token place = token();
        int64_t value;
        if (!expect_int(value, "a tile's size")) return false;
        if (value < 0) {
          return fail("invalid-layout", place.location(), "a tile's size can't be negative");
        }
        sizes.push_back(std::to_string(value));
        return true;
      };
      if (!parse_list(TokenKind::kLeftParen, TokenKind::kRightParen, "around a tile", size)) {
        return false;
      }
      tiling += fmt::format("({})", fmt::join(sizes, ","));
    } while (at(TokenKind::kLeftParen));
    layout.tiling = tiling;
  }
  if (at_word("L")) {
    const Token place = token();
    if (!parse_layout_number(layout.tail_padding_alignment)) return false;
    if (layout.tail_padding_alignment < 1) {
      return fail("invalid-layout", place.location(), "the alignment must be positive");
    }
  }
  if (at(TokenKind::kHash) && !type_in_parens(layout.index_type)) return false;
  if (at(TokenKind::kStar) && !type_in_parens(layout.pointer_type)) return false;
  if (at_word("E") && !parse_layout_number(layout.element_size_in_bits)) return false;
  if (at_word("S") && !parse_layout_number(layout.memory_space)) return false;
  if (accept_word("SC")) {
    split = "SC";
    do {
      int64_t dim;
      if (!expect(TokenKind::kLeftParen, "in the layout") ||
          !expect_int(dim, "a dimension to split") ||
          !expect(TokenKind::kColon, "behind the dimension to split")) {
        return false;
      }
      std::vector<int64_t> indices;
      while (!at(TokenKind::kRightParen)) {
        if (!indices.empty() && !expect(TokenKind::kComma, "between the indices")) return false;
        if (!expect_int(indices.emplace_back(), "an index to split at")) return false;
      }
      split += fmt::format("({}:{})", dim, fmt::join(indices, ","));
      if (!expect(TokenKind::kRightParen, "in the layout")) return false;
    } while (at(TokenKind::kLeftParen));
    layout.split_configs = split;
  }
  if (at_word("M") && !parse_layout_number(layout.metadata_prefix_bytes)) return false;
  if (at(TokenKind::kRightBrace)) {
    lexer_.advance();
    return true;
  }
  return fail(
      "invalid-layout", token().location(),
      fmt::format("expected '}}' or a later part of the layout, got {}", describe(token())));
}

}  // namespace minihlo::internal
