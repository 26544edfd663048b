// Readers of attributes with a little grammar of their own: windows, padding, slices, aliasing,
// JSON.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "ir/text/strings.h"
#include "ir/text/text_parser.h"

namespace minihlo::internal {
namespace {

template <class T>
void put(Attribute& attribute, std::span<const T> values) {
  attribute.data = values.data();
  attribute.size = static_cast<uint32_t>(values.size());
}

// The numbers of `text` between separators; false when one does not fit 64 bits.
bool split_numbers(std::string_view text, char separator, std::vector<int64_t>& values) {
  values.clear();
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(separator));
    int64_t value;
    if (std::from_chars(part.data(), part.data() + part.size(), value).ec != std::errc()) {
      return false;
    }
    values.push_back(value);
    text.remove_prefix(std::min(part.size() + 1, text.size()));
  }
  return true;
}

}  // namespace

bool TextParser::read_slice(Attribute& attribute) {
  std::vector<SliceDimension> dims;
  auto element = [&] {
    SliceDimension dim{0, 0, 1};
    if (!expect(TokenKind::kLeftSquare, "before a range") ||
        !expect_int(dim.start, "the start of a range") ||
        !expect(TokenKind::kColon, "between start and limit") ||
        !expect_int(dim.limit, "the limit of a range")) {
      return false;
    }
    if (accept(TokenKind::kColon) && !expect_int(dim.stride, "the stride of a range")) return false;
    dims.push_back(dim);
    return expect(TokenKind::kRightSquare, "behind a range");
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the ranges", element)) {
    return false;
  }
  put<SliceDimension>(attribute, arena().copy(dims));
  return true;
}

bool TextParser::parse_padding_groups(std::vector<PaddingDimension>& values) {
  if (!at(TokenKind::kPadding)) return fail_expected("padding such as 0_1x2_3");
  std::string_view text = token().text;
  std::vector<int64_t> numbers;
  while (!text.empty()) {
    std::string_view group = text.substr(0, text.find('x'));
    if (!split_numbers(group, '_', numbers)) {
      return fail("number-out-of-range", token().location(), "a number does not fit 64 bits");
    }
    values.push_back({numbers[0], numbers[1], numbers.size() > 2 ? numbers[2] : 0});
    text.remove_prefix(std::min(group.size() + 1, text.size()));
  }
  lexer_.advance();
  return true;
}

bool TextParser::read_padding(Attribute& attribute) {
  std::vector<PaddingDimension> dims;
  // Nothing at all is how a pad of rank 0 is printed.
  bool nothing = at(TokenKind::kComma) || at(TokenKind::kRightBrace) || at(TokenKind::kName) ||
                 at(TokenKind::kEnd) || at_word("ROOT");
  if (!nothing && !parse_padding_groups(dims)) return false;
  put<PaddingDimension>(attribute, arena().copy(dims));
  return true;
}

bool TextParser::parse_sizes(std::vector<int64_t>& values) {
  if (at(TokenKind::kInteger)) {
    values = {token().integer};
  } else if (!at(TokenKind::kSizes)) {
    return fail_expected("sizes such as 3x3");
  } else if (!split_numbers(token().text, 'x', values)) {
    return fail("number-out-of-range", token().location(), "a number does not fit 64 bits");
  }
  lexer_.advance();
  return true;
}

bool TextParser::read_window(Attribute& attribute) {
  constexpr std::string_view kKeys[] = {"size",       "stride",     "pad",
                                        "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  std::vector<int64_t> values[std::size(kKeys)];
  std::vector<PaddingDimension> padding;
  const Token open = token();
  if (!expect(TokenKind::kLeftBrace, "before the window")) return false;
  bool seen[std::size(kKeys)] = {};
  while (!accept(TokenKind::kRightBrace)) {
    if (!at(TokenKind::kKey)) return fail_expected("'}' or a part of a window such as 'size='");
    const Token key = token();
    auto which = static_cast<size_t>(std::find(std::begin(kKeys), std::end(kKeys), key.text) -
                                     std::begin(kKeys));
    if (which == std::size(kKeys)) {
      fail("unknown-attribute", key.location(), fmt::format("a window has no '{}'", key.text));
      note_suggestion(key.text, {std::begin(kKeys), std::end(kKeys)});
      return false;
    }
    if (std::exchange(seen[which], true)) {
      return fail("duplicate-attribute", key.location(),
                  fmt::format("'{}' is given twice", key.text));
    }
    lexer_.advance();
    if (key.text == "pad") {
      if (!parse_padding_groups(padding)) return false;
      for (const PaddingDimension& dim : padding) {
        if (dim.interior != 0) {
          return fail("invalid-window", key.location(), "a window's padding has no interior part");
        }
      }
    } else if (!parse_sizes(values[which])) {
      return false;
    }
  }
  const size_t rank = values[0].size();
  std::span<WindowDimension> dims = arena().array<WindowDimension>(rank);
  for (size_t which = 1; which < std::size(kKeys); ++which) {
    size_t count = which == 2 ? padding.size() : values[which].size();
    if (seen[which] && count != rank) {
      return fail("invalid-window", open.location(),
                  fmt::format("the window's '{}' is of rank {}, its size of rank {}", kKeys[which],
                              count, rank));
    }
  }
  for (size_t i = 0; i < rank; ++i) {
    WindowDimension dim;
    dim.size = values[0][i];
    if (seen[1]) dim.stride = values[1][i];
    if (seen[2]) dim.padding_low = padding[i].low;
    if (seen[2]) dim.padding_high = padding[i].high;
    if (seen[3]) dim.base_dilation = values[3][i];
    if (seen[4]) dim.window_dilation = values[4][i];
    if (seen[5]) dim.reversal = values[5][i] == 1;
    dims[i] = dim;
  }
  put<WindowDimension>(attribute, dims);
  return true;
}

bool TextParser::read_dim_labels(Attribute& attribute) {
  if (!at(TokenKind::kDimLabels)) return fail_expected("dimension labels such as bf_io->bf");
  attribute.data = token().text.data();
  attribute.size = token().length;
  lexer_.advance();
  return true;
}

bool TextParser::parse_shape_index(std::span<const int64_t>& index) {
  std::vector<int64_t> values;
  auto element = [&] { return expect_int(values.emplace_back(), "an index of a tuple"); };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the index", element,
                  true)) {
    return false;
  }
  index = arena().copy(values);
  return true;
}

bool TextParser::read_aliases(Attribute& attribute) {
  std::vector<Alias> aliases;
  const bool of_module = attribute.id == AttributeId::input_output_alias;
  auto element = [&] {
    Alias alias{};
    if (!parse_shape_index(alias.output_index) ||
        !expect(TokenKind::kColon, "behind the output's index") ||
        !expect(TokenKind::kLeftParen, "before the input") ||
        !expect_int(alias.parameter, "the input's number") ||
        !expect(TokenKind::kComma, "behind the input's number") ||
        !parse_shape_index(alias.parameter_index)) {
      return false;
    }
    if (of_module) {
      alias.kind = "may-alias";
      if (accept(TokenKind::kComma)) {
        if (!at_word("may-alias") && !at_word("must-alias")) {
          return fail_expected("'may-alias' or 'must-alias'");
        }
        alias.kind = token().text;
        lexer_.advance();
      }
    }
    aliases.push_back(alias);
    return expect(TokenKind::kRightParen, "behind the input");
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the aliases", element,
                  true)) {
    return false;
  }
  put<Alias>(attribute, arena().copy(aliases));
  return true;
}

bool TextParser::read_donors(Attribute& attribute) {
  std::vector<Donor> donors;
  auto element = [&] {
    Donor donor{};
    if (!expect(TokenKind::kLeftParen, "before the parameter") ||
        !expect_int(donor.parameter, "the parameter's number") ||
        !expect(TokenKind::kComma, "behind the parameter's number") ||
        !parse_shape_index(donor.index)) {
      return false;
    }
    donors.push_back(donor);
    return expect(TokenKind::kRightParen, "behind the parameter");
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the donors", element,
                  true)) {
    return false;
  }
  put<Donor>(attribute, arena().copy(donors));
  return true;
}

bool TextParser::read_domain(Attribute& attribute) {
  DomainValue domain{};
  const Token open = token();
  if (!expect(TokenKind::kLeftBrace, "before the domain")) return false;
  while (!accept(TokenKind::kRightBrace)) {
    accept(TokenKind::kComma);
    const Token key = token();
    bool twice = false;
    if (accept_key("kind")) {
      twice = !domain.kind.empty();
      const Token place = token();
      if (!expect_string(domain.kind, "the kind of domain, in quotes")) return false;
      if (domain.kind != "sharding") {
        return fail("invalid-value", place.location(), "the only kind of domain is \"sharding\"");
      }
    } else if (accept_key("entry")) {
      twice = domain.entry;
      if (!parse_sharding(domain.entry)) return false;
    } else if (accept_key("exit")) {
      twice = domain.exit;
      if (!parse_sharding(domain.exit)) return false;
    } else {
      return fail_expected("'kind=', 'entry=' or 'exit='");
    }
    if (twice) {
      return fail("duplicate-attribute", key.location(),
                  fmt::format("'{}' is given twice", key.text));
    }
  }
  if (domain.kind.empty() || !domain.entry || !domain.exit) {
    return fail("missing-attribute", open.location(), "a domain needs 'kind', 'entry' and 'exit'");
  }
  attribute.data = arena().make<DomainValue>(domain);
  return true;
}

bool TextParser::parse_json_text(JsonText& json) {
  const Token place = token();
  if (!at(TokenKind::kLeftBrace)) {
    if (!expect_string(json.text, "a string or {...}")) return false;
    json.raw = is_braced(json.text);
    return true;
  }
  size_t end = end_of_braces(lexer_.text(), place.offset);
  if (end == std::string_view::npos) {
    return fail("unbalanced-braces", place.location(), "nothing closes this brace");
  }
  json = {lexer_.text().substr(place.offset, end - place.offset), true};
  lexer_.jump(end);
  return true;
}

bool TextParser::read_json(Attribute& attribute) {
  JsonText json;
  if (!parse_json_text(json)) return false;
  attribute.data = arena().make<JsonText>(json);
  return true;
}

bool TextParser::read_string_map(Attribute& attribute) {
  std::vector<NamedString> entries;
  auto element = [&] {
    if (!at(TokenKind::kKey)) return fail_expected("a name followed by '='");
    const Token key = token();
    lexer_.advance();
    JsonText value;
    if (!parse_json_text(value)) return false;
    entries.push_back({key.text, value.text, value.raw});
    return true;
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the attributes",
                  element)) {
    return false;
  }
  // As in XLA, the last of those with one name counts.
  std::reverse(entries.begin(), entries.end());
  std::stable_sort(entries.begin(), entries.end(),
                   [](const NamedString& a, const NamedString& b) { return a.name < b.name; });
  entries.erase(
      std::unique(entries.begin(), entries.end(),
                  [](const NamedString& a, const NamedString& b) { return a.name == b.name; }),
      entries.end());
  put<NamedString>(attribute, arena().copy(entries));
  return true;
}

}  // namespace minihlo::internal
