// Values in braces that are kept as text: where an instruction came from, statistics, accuracy.
// Their grammar is checked, and the text is spaced as XLA prints it.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ir/text/strings.h"
#include "ir/text/text_parser.h"

namespace minihlo::internal {

// A part of what is said of lhs and rhs: a number, or sizes such as 2x4.
struct TextParser::SidePart {
  std::string_view key;
  bool is_number;
  size_t count;             // of the sizes; 0 is any
  std::string_view unsaid;  // what is printed where it is not given
};

bool TextParser::read_braced(Attribute& attribute) {
  std::string text;
  bool ok;
  switch (attribute.id) {
    case AttributeId::origin:
      ok = parse_original_value(text);
      break;
    case AttributeId::origin_recovery_table:
      ok = parse_recovery_table(text);
      break;
    case AttributeId::debug_attributes:
      ok = parse_debug_attributes(text);
      break;
    case AttributeId::statistics:
      ok = parse_statistics(text);
      break;
    case AttributeId::result_accuracy:
      ok = parse_result_accuracy(text);
      break;
    case AttributeId::profile_type:
      ok = parse_profile_types(text);
      break;
    case AttributeId::sparsity_config: {
      constexpr SidePart kParts[] = {{"sparsity", false, 2, "0x0"},
                                     {"dimension", true, 0, ""},
                                     {"stride", true, 0, ""},
                                     {"idx", true, 0, ""}};
      ok = parse_sides(text, kParts);
      break;
    }
    case AttributeId::block_scaling_config: {
      constexpr SidePart kParts[] = {{"scale_idx", true, 0, "0"},
                                     {"zero_idx", true, 0, ""},
                                     {"strides", false, 0, ""},
                                     {"steps", false, 0, ""}};
      ok = parse_sides(text, kParts);
      break;
    }
    default: {
      JsonText json;
      if (!at(TokenKind::kLeftBrace)) return fail_expected("'{'");
      if (!parse_json_text(json)) return false;
      attribute.data = json.text.data();
      attribute.size = static_cast<uint32_t>(json.text.size());
      return true;
    }
  }
  if (!ok) return false;
  std::string_view kept = arena().copy_string(text);
  attribute.data = kept.data();
  attribute.size = static_cast<uint32_t>(kept.size());
  return true;
}

// {"name" {0,1}}, {"name"} or {}: a leaf of what another instruction gave.
bool TextParser::parse_original_array(std::string& text) {
  if (!expect(TokenKind::kLeftBrace, "before a value's origin")) return false;
  text += '{';
  if (at(TokenKind::kString)) {
    text += fmt::format("\"{}\"", token().text);
    lexer_.advance();
    std::span<const int64_t> index;
    if (at(TokenKind::kLeftBrace) && !parse_shape_index(index)) return false;
    if (!index.empty()) text += fmt::format(" {{{}}}", fmt::join(index, ","));
  }
  text += '}';
  return expect(TokenKind::kRightBrace, "behind a value's origin");
}

// {({"a"}, ({}, {"b" {0}})),["call.1"]}: the tree of the shape, and the calls in which the values
// are, where there are any. Or {[synthetic_call]}.
bool TextParser::parse_original_value(std::string& text) {
  const Token open = token();
  if (!expect(TokenKind::kLeftBrace, "before the origin")) return false;
  text += '{';
  if (accept(TokenKind::kLeftSquare)) {
    if (!accept_word("synthetic_call")) return fail_expected("'synthetic_call'");
    text += "[synthetic_call]}";
    return expect(TokenKind::kRightSquare, "behind 'synthetic_call'") &&
           expect(TokenKind::kRightBrace, "behind the origin");
  }
  int64_t depth = 0;
  std::string calls;
  while (!at(TokenKind::kRightBrace)) {
    if (at(TokenKind::kComma) && lexer_.peek().kind == TokenKind::kLeftSquare) {
      if (!parse_original_calls(calls)) return false;
    } else if (at(TokenKind::kLeftBrace)) {
      if (!parse_original_array(text)) return false;
    } else if (accept(TokenKind::kLeftParen)) {
      text += '(';
      ++depth;
    } else if (depth > 0 && accept(TokenKind::kRightParen)) {
      text += ')';
      --depth;
    } else if (depth > 0 && accept(TokenKind::kComma)) {
      text += ", ";
    } else {
      return fail_expected("'{\"name\"}', a tuple of those, or '[synthetic_call]'");
    }
  }
  if (depth > 0) {
    return fail("invalid-value", open.location(), "a tuple in the origin is not closed");
  }
  lexer_.advance();
  text += calls + '}';
  return true;
}

// ,["call.1/while#$"]: what an origin ends with.
bool TextParser::parse_original_calls(std::string& text) {
  lexer_.advance();
  const Token square = token();
  lexer_.advance();
  if (!text.empty()) {
    return fail("duplicate-value", square.location(), "the origin has its calls already");
  }
  if (!at(TokenKind::kString)) return fail_expected("the calls in quotes");
  text = fmt::format(",[\"{}\"]", token().text);
  lexer_.advance();
  return expect(TokenKind::kRightSquare, "behind the calls");
}

// { {"a"} : {"b"}, "a module" {"c"} : {"d"} }
bool TextParser::parse_recovery_table(std::string& text) {
  if (!expect(TokenKind::kLeftBrace, "before the table")) return false;
  text += '{';
  while (!accept(TokenKind::kRightBrace)) {
    text += "\n  ";
    if (!parse_original_array(text)) return false;
    text += " : ";
    if (!expect(TokenKind::kColon, "behind the value that was replaced")) return false;
    if (!parse_original_array(text)) return false;
    if (!accept(TokenKind::kComma)) continue;
    const Token place = token();
    std::string_view recovery;
    if (!expect_string(recovery, "a module in quotes")) return false;
    auto source = Source::from_string("recovery module", std::string(recovery));
    Diagnostics nested(source, 1);
    if (!parse_text(source, nested)) {
      fail("invalid-value", place.location(), "the recovery module can't be read");
      last_error_->notes.push_back({nested.to_string(), {}});
      return false;
    }
    text += ",\n  ";
    text += lexer_.text().substr(place.offset, place.length);
  }
  text += text.size() > 1 ? "\n}" : "}";
  return true;
}

// { {"a"}:({log_mode=default,callback_id=1,op_id=0,partitioned=true},{...}), ... }
bool TextParser::parse_debug_attributes(std::string& text) {
  if (!expect(TokenKind::kLeftBrace, "before the table")) return false;
  text += '{';
  bool first = true;
  while (first ? !at(TokenKind::kRightBrace) : accept(TokenKind::kComma)) {
    text += first ? "\n  " : ",\n  ";
    first = false;
    if (!parse_original_array(text) || !expect(TokenKind::kColon, "behind the value")) return false;
    text += ":(";
    bool begins = true;
    auto one = [&] {
      if (!std::exchange(begins, false)) text += ',';
      return parse_debug_attribute_set(text);
    };
    if (!parse_list(TokenKind::kLeftParen, TokenKind::kRightParen, "around the attributes", one)) {
      return false;
    }
    text += ')';
  }
  text += first ? "}" : "\n}";
  return expect(TokenKind::kRightBrace, "behind the table");
}

// {log_mode=default,callback_id=1,op_id=0,partitioned=true}; what is not partitioned has no word.
bool TextParser::parse_debug_attribute_set(std::string& text) {
  constexpr std::string_view kKeys[] = {"log_mode", "callback_id", "op_id", "partitioned"};
  constexpr std::string_view kModes = " none default fusion_debugger no_fusion guaranteed ";
  std::string_view values[std::size(kKeys)];
  auto one = [&] {
    const auto* key = std::find(std::begin(kKeys), std::end(kKeys), token().text);
    if (!at(TokenKind::kKey) || key == std::end(kKeys)) {
      return fail_expected("'log_mode=', 'callback_id=', 'op_id=' or 'partitioned='");
    }
    const size_t i = static_cast<size_t>(key - kKeys);
    if (!values[i].empty()) {
      return fail("duplicate-attribute", token().location(),
                  fmt::format("'{}' is there twice", *key));
    }
    lexer_.advance();
    if (i == 0 &&
        (!at(TokenKind::kWord) || kModes.find(fmt::format(" {} ", token().text)) == kModes.npos)) {
      return fail_expected("none, default, fusion_debugger, no_fusion or guaranteed");
    }
    if ((i == 1 || i == 2) && !at(TokenKind::kInteger)) return fail_expected("a number");
    if (i == 3 && !at_word("true") && !at_word("false")) return fail_expected("true or false");
    values[i] = token().text;
    lexer_.advance();
    return true;
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the attributes", one)) {
    return false;
  }
  if (values[3] == "false") values[3] = {};
  std::vector<std::string> parts;
  for (size_t i = 0; i < std::size(kKeys); ++i) {
    if (!values[i].empty()) parts.push_back(fmt::format("{}={}", kKeys[i], values[i]));
  }
  text += fmt::format("{{{}}}", fmt::join(parts, ","));
  return true;
}

// {visualizing_index=1,name=33,other=4.5}
bool TextParser::parse_statistics(std::string& text) {
  if (!expect(TokenKind::kLeftBrace, "before the statistics")) return false;
  text += '{';
  bool first = true;
  while (first ? !at(TokenKind::kRightBrace) : accept(TokenKind::kComma)) {
    if (!at(TokenKind::kKey)) return fail_expected("a name followed by '='");
    text += fmt::format("{}{}=", first ? "" : ",", token().text);
    lexer_.advance();
    const bool real = at_word("nan") || (at(TokenKind::kDecimal) && token().text != "-inf");
    if (!at(TokenKind::kInteger) && (first || !real)) {
      return fail_expected(first ? "the index of a statistic" : "a finite number");
    }
    text += token().text;
    lexer_.advance();
    first = false;
  }
  text += '}';
  return expect(TokenKind::kRightBrace, "behind the statistics");
}

// {mode=highest} or {tolerance={atol=1e-6,rtol=1e-6,ulps=4}}
bool TextParser::parse_result_accuracy(std::string& text) {
  if (!expect(TokenKind::kLeftBrace, "before the accuracy")) return false;
  if (accept_key("mode")) {
    const std::string mode = lower_case(token().text);
    if (!at(TokenKind::kWord) || (mode != "default" && mode != "highest")) {
      return fail_expected("'default' or 'highest'");
    }
    text += fmt::format("{{mode={}}}", mode);
    lexer_.advance();
    return expect(TokenKind::kRightBrace, "behind the accuracy");
  }
  if (!accept_key("tolerance")) return fail_expected("'mode=' or 'tolerance='");
  text += "{tolerance={";
  bool first = true;
  auto bound = [&] {
    if (!at(TokenKind::kKey) ||
        (token().text != "atol" && token().text != "rtol" && token().text != "ulps")) {
      return fail_expected("'atol=', 'rtol=' or 'ulps='");
    }
    text += fmt::format("{}{}=", first ? "" : ",", token().text);
    first = false;
    lexer_.advance();
    if (!at(TokenKind::kInteger) && !at(TokenKind::kDecimal) && !at_word("inf") &&
        !at_word("nan")) {
      return fail_expected("a number");
    }
    text += token().text;
    lexer_.advance();
    return true;
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the tolerance", bound)) {
    return false;
  }
  text += "}}";
  return expect(TokenKind::kRightBrace, "behind the accuracy");
}

// {1}: window, flag, integer (1 to 3) or none of these (0).
bool TextParser::parse_profile_types(std::string& text) {
  const Token place = token();
  std::vector<int64_t> types;
  if (!parse_int_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, types)) return false;
  for (int64_t type : types) {
    if (type < 0 || type > 3) {
      return fail("invalid-value", place.location(),
                  fmt::format("there is no type {} of a profile: they are 0 to 3", type));
    }
  }
  text += fmt::format("{{{}}}", fmt::join(types, ","));
  return true;
}

// {lhs={sparsity=2x4 dimension=1} rhs={...}}, with no commas.
bool TextParser::parse_sides(std::string& text, std::span<const SidePart> parts) {
  constexpr std::string_view kSides[] = {"lhs", "rhs"};
  std::optional<std::vector<std::string>> sides[std::size(kSides)];
  if (!expect(TokenKind::kLeftBrace, "before the sides")) return false;
  while (!accept(TokenKind::kRightBrace)) {
    const size_t side = accept_key("lhs") ? 0 : accept_key("rhs") ? 1 : 2;
    if (side == std::size(kSides)) return fail_expected("'}', 'lhs=' or 'rhs='");
    if (!expect(TokenKind::kLeftBrace, "before what is said of the side")) return false;
    if (!sides[side]) sides[side].emplace(parts.size());
    while (!accept(TokenKind::kRightBrace)) {
      size_t i = 0;
      while (i < parts.size() && !accept_key(parts[i].key)) ++i;
      if (i == parts.size()) return fail_expected(fmt::format("'}}' or '{}='", parts[0].key));
      const Token place = token();
      std::vector<int64_t> values(1);
      if (parts[i].is_number ? !expect_int(values[0], "a number") : !parse_sizes(values)) {
        return false;
      }
      if (parts[i].count != 0 && values.size() != parts[i].count) {
        return fail("invalid-value", place.location(),
                    fmt::format("{} is made of {} sizes", parts[i].key, parts[i].count));
      }
      (*sides[side])[i] = fmt::to_string(fmt::join(values, "x"));
    }
  }
  text += '{';
  for (size_t side = 0; side < std::size(kSides); ++side) {
    if (!sides[side]) continue;
    text += fmt::format("{}{}={{", text.size() > 1 ? " " : "", kSides[side]);
    std::string_view gap;
    for (size_t i = 0; i < parts.size(); ++i) {
      const std::string_view value =
          (*sides[side])[i].empty() ? parts[i].unsaid : std::string_view((*sides[side])[i]);
      if (value.empty()) continue;
      text += fmt::format("{}{}={}", gap, parts[i].key, value);
      gap = " ";
    }
    text += '}';
  }
  text += '}';
  return true;
}

}  // namespace minihlo::internal
