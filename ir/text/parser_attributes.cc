#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "ir/text/strings.h"
#include "ir/text/text_parser.h"

namespace minihlo::internal {
namespace {

// Words of algorithm (PrecisionConfig in xla/xla_data.proto).
constexpr std::string_view kDotAlgorithms[] = {"unset",
                                               "dot_any_f8_any_f8_f32",
                                               "dot_any_f8_any_f8_f32_fast_accum",
                                               "dot_f16_f16_f16",
                                               "dot_f16_f16_f32",
                                               "dot_bf16_bf16_bf16",
                                               "dot_bf16_bf16_f32",
                                               "dot_bf16_bf16_f32_x3",
                                               "dot_bf16_bf16_f32_x6",
                                               "dot_bf16_bf16_f32_x9",
                                               "dot_tf32_tf32_f32",
                                               "dot_tf32_tf32_f32_x3",
                                               "dot_f32_f32_f32",
                                               "dot_f64_f64_f64"};

std::vector<std::string_view> split_words(std::string_view words) {
  std::vector<std::string_view> result;
  while (!words.empty()) {
    size_t blank = std::min(words.find(' '), words.size());
    result.push_back(words.substr(0, blank));
    words.remove_prefix(std::min(blank + 1, words.size()));
  }
  return result;
}

// Which of the words, with blanks between them, this one is.
std::optional<int64_t> find_word(std::string_view words, std::string_view word) {
  for (int64_t index = 0; !words.empty(); ++index) {
    const size_t blank = std::min(words.find(' '), words.size());
    if (words.substr(0, blank) == word) return index;
    words.remove_prefix(std::min(blank + 1, words.size()));
  }
  return std::nullopt;
}

// Whether XLA reads the attribute's words without regard to case.
bool ignores_case(AttributeId id) {
  switch (id) {
    case AttributeId::api_version:
    case AttributeId::schedule:
    case AttributeId::distribution:
    case AttributeId::rng_algorithm:
      return true;
    default:
      return false;
  }
}

// Whether values of this kind depend on their text alone and are more work to read than to look up.
// Most of them are written alike on many instructions.
bool is_often_repeated(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kDeviceGroups:
    case AttributeKind::kJson:
    case AttributeKind::kMetadata:
    case AttributeKind::kPairs:
    case AttributeKind::kSharding:
    case AttributeKind::kSlice:
    case AttributeKind::kStringMap:
    case AttributeKind::kWindow:
      return true;
    default:
      return false;
  }
}

}  // namespace

TextParser::Reader TextParser::reader(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::kBool:
      return &TextParser::read_bool;
    case AttributeKind::kInt:
      return &TextParser::read_int;
    case AttributeKind::kFloat:
      return &TextParser::read_float;
    case AttributeKind::kString:
      return &TextParser::read_string;
    case AttributeKind::kWord:
      return &TextParser::read_word;
    case AttributeKind::kWords:
      return &TextParser::read_words;
    case AttributeKind::kEnum:
      return &TextParser::read_enum;
    case AttributeKind::kInts:
      return &TextParser::read_ints;
    case AttributeKind::kBools:
      return &TextParser::read_bools;
    case AttributeKind::kIntLists:
      return &TextParser::read_int_lists;
    case AttributeKind::kPairs:
      return &TextParser::read_pairs;
    case AttributeKind::kSlice:
      return &TextParser::read_slice;
    case AttributeKind::kPadding:
      return &TextParser::read_padding;
    case AttributeKind::kWindow:
      return &TextParser::read_window;
    case AttributeKind::kDimLabels:
      return &TextParser::read_dim_labels;
    case AttributeKind::kShape:
      return &TextParser::read_shape;
    case AttributeKind::kShapes:
      return &TextParser::read_shapes;
    case AttributeKind::kProgramShape:
      return &TextParser::read_program_shape;
    case AttributeKind::kLiteral:
      return &TextParser::read_literal;
    case AttributeKind::kSharding:
      return &TextParser::read_sharding;
    case AttributeKind::kDeviceGroups:
      return &TextParser::read_device_groups;
    case AttributeKind::kComputation:
      return &TextParser::read_computation;
    case AttributeKind::kComputations:
      return &TextParser::read_computations;
    case AttributeKind::kInstructions:
      return &TextParser::read_instructions;
    case AttributeKind::kStringMap:
      return &TextParser::read_string_map;
    case AttributeKind::kMetadata:
      return &TextParser::read_metadata;
    case AttributeKind::kJson:
      return &TextParser::read_json;
    case AttributeKind::kAliases:
      return &TextParser::read_aliases;
    case AttributeKind::kDonors:
      return &TextParser::read_donors;
    case AttributeKind::kDomain:
      return &TextParser::read_domain;
    case AttributeKind::kBraced:
      return &TextParser::read_braced;
  }
  return nullptr;
}

bool TextParser::add_attribute(const AttributeUse* use, const Token& key,
                               std::vector<Attribute>& attributes) {
  if (find_attribute(attributes, use->id)) {
    return fail("duplicate-attribute", key.location(),
                fmt::format("the attribute '{}' is given twice", key.text));
  }
  Attribute attribute{use->id, 0, {0}};
  if (!read_value(info(use->id).kind, key, attribute)) return false;
  // What is meant where nothing is said.
  if (use->id == AttributeId::algorithm &&
      attribute_value<std::string_view>(attribute) == kDotAlgorithms[0]) {
    return true;
  }
  attributes.push_back(attribute);
  return true;
}

bool TextParser::read_value(AttributeKind kind, const Token& key, Attribute& attribute) {
  const Reader read = reader(kind);
  const size_t end = is_often_repeated(kind) ? lexer_.end_of_value() : std::string_view::npos;
  if (end == std::string_view::npos) return (this->*read)(attribute);
  const std::string_view text = lexer_.text().substr(key.offset, end - key.offset);
  KnownValue& known = values_[hash_text(text) & (values_.size() - 1)];
  // What attributes of one name mean may depend on the opcode.
  if (known.value.id == attribute.id && same_text(known.text, text)) {
    attribute = known.value;
    lexer_.jump(end);
    return true;
  }
  if (!(this->*read)(attribute)) return false;
  if (lexer_.skip_blank(end) == token().offset) known = {text, attribute};
  return true;
}

bool TextParser::parse_dictionary(std::span<const AttributeUse> uses,
                                  std::vector<Attribute>& attributes) {
  if (!expect(TokenKind::kLeftBrace, "before the values")) return false;
  while (!accept(TokenKind::kRightBrace)) {
    accept(TokenKind::kComma);
    if (!at(TokenKind::kKey)) return fail_expected("'}' or a name followed by '='");
    const Token key = token();
    const AttributeUse* found = find_attribute_use(uses, key.text);
    if (!found) {
      fail("unknown-attribute", key.location(), fmt::format("'{}' is not known here", key.text));
      std::vector<std::string_view> known;
      for (const AttributeUse& use : uses) known.push_back(info(use.id).text);
      note_suggestion(key.text, known);
      return false;
    }
    lexer_.advance();
    const Token place = token();
    if (!add_attribute(found, key, attributes)) return false;
    const Attribute& added = attributes.back();
    if (info(added.id).kind == AttributeKind::kInt &&
        added.integer != static_cast<int32_t>(added.integer)) {
      return fail("number-out-of-range", place.location(), "the integer does not fit 32 bits");
    }
    // An empty list says as much as none.
    if (added.id == AttributeId::profile_type && added.size == 2) attributes.pop_back();
  }
  return true;
}

bool TextParser::read_bool(Attribute& attribute) {
  if (!at_word("true") && !at_word("false")) return fail_expected("'true' or 'false'");
  attribute.integer = token().text == "true";
  lexer_.advance();
  return true;
}

bool TextParser::read_int(Attribute& attribute) {
  return expect_int(attribute.integer, "an integer");
}

bool TextParser::read_float(Attribute& attribute) {
  if (at(TokenKind::kInteger)) {
    attribute.real = static_cast<double>(token().integer);
  } else if (at(TokenKind::kDecimal) || at_word("inf") || at_word("nan")) {
    std::string_view text = token().text;
    auto [_, error] = std::from_chars(text.data(), text.data() + text.size(), attribute.real);
    if (error == std::errc::result_out_of_range) {
      return fail("number-out-of-range", token().location(), "the number does not fit 64 bits");
    }
  } else {
    return fail_expected("a number");
  }
  // Of 32 bits in XLA; inf is out of range, nan is not.
  if (std::abs(attribute.real) > std::numeric_limits<float>::max()) {
    return fail("number-out-of-range", token().location(), "the number does not fit 32 bits");
  }
  lexer_.advance();
  return true;
}

bool TextParser::read_string(Attribute& attribute) {
  std::string_view text;
  if (!expect_string(text, "a string in quotes")) return false;
  set_range(attribute, text);
  return true;
}

bool TextParser::read_word(Attribute& attribute) {
  std::string_view text = lexer_.text();
  size_t begin = token().offset;
  size_t end = std::min(text.find_first_of(", \t\r\n(){}\"'", begin), text.size());
  if (end == begin) return fail_expected("a word");
  std::string_view word = text.substr(begin, end - begin);
  if (attribute.id == AttributeId::algorithm) {
    // As with precisions, XLA pays no regard to case and prints lower case.
    auto known = std::find(std::begin(kDotAlgorithms), std::end(kDotAlgorithms), lower_case(word));
    if (known == std::end(kDotAlgorithms)) {
      fail("invalid-value", token().location(), fmt::format("there is no algorithm '{}'", word));
      note_suggestion(word, {std::begin(kDotAlgorithms), std::end(kDotAlgorithms)});
      return false;
    }
    word = *known;
  }
  set_range(attribute, word);
  lexer_.jump(end);
  return true;
}

bool TextParser::read_words(Attribute& attribute) {
  std::vector<std::string_view> words;
  auto element = [&] {
    if (!at(TokenKind::kWord)) return fail_expected("a word");
    // XLA reads them without regard to case and prints them in lower case.
    const std::string lower = lower_case(token().text);
    words.push_back(lower == token().text ? token().text : arena().copy_string(lower));
    lexer_.advance();
    return true;
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the words", element)) {
    return false;
  }
  set_range(attribute, arena().copy(words));
  return true;
}

bool TextParser::read_enum(Attribute& attribute) {
  const std::string_view all = info(attribute.id).words;
  const std::optional<int64_t> found = !at(TokenKind::kWord) ? std::nullopt
                                       : ignores_case(attribute.id)
                                           ? find_word(lower_case(all), lower_case(token().text))
                                           : find_word(all, token().text);
  if (!found) {
    const std::vector<std::string_view> words = split_words(all);
    fail("invalid-value", token().location(),
         fmt::format("'{}' must be one of {}", info(attribute.id).text, fmt::join(words, ", ")));
    note_suggestion(token().text, words);
    return false;
  }
  attribute.integer = *found;
  lexer_.advance();
  return true;
}

bool TextParser::parse_int_list(TokenKind open, TokenKind close, std::vector<int64_t>& values) {
  const char bracket = close == TokenKind::kRightBrace   ? '}'
                       : close == TokenKind::kRightParen ? ')'
                                                         : ']';
  if (at(open) && lexer_.read_integers(bracket, values)) return true;
  return parse_list(open, close, "around the integers", [&] {
    int64_t value;
    if (!expect_int(value, "an integer")) return false;
    values.push_back(value);
    return true;
  });
}

bool TextParser::read_ints(Attribute& attribute) {
  auto values = integer_pool_.lease();
  if (!parse_int_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, *values)) return false;
  set_range(attribute, arena().copy(*values));
  return true;
}

bool TextParser::read_bools(Attribute& attribute) {
  std::vector<uint8_t> values;
  auto element = [&] {
    Attribute one;
    if (!read_bool(one)) return false;
    values.push_back(one.integer != 0);
    return true;
  };
  // A single value needs no braces where the module says something of its parameters or results.
  if (!at(TokenKind::kLeftBrace) && attribute.id != AttributeId::parameter_replication) {
    if (!element()) return false;
  } else if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the values",
                         element)) {
    return false;
  }
  std::span<bool> kept = arena().array<bool>(values.size());
  std::copy(values.begin(), values.end(), kept.begin());
  set_range(attribute, kept);
  return true;
}

bool TextParser::read_int_lists(Attribute& attribute) {
  std::vector<std::span<const int64_t>> lists;
  auto values = integer_pool_.lease();
  auto element = [&] {
    values->clear();
    if (!parse_int_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, *values)) return false;
    lists.push_back(arena().copy(*values));
    return true;
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the lists", element)) {
    return false;
  }
  set_range(attribute, arena().copy(lists));
  return true;
}

bool TextParser::read_pairs(Attribute& attribute) {
  std::vector<SourceTarget> pairs;
  auto numbers = integer_pool_.lease();
  auto element = [&] {
    SourceTarget pair;
    numbers->clear();
    const uint32_t begin = token().offset;
    if (at(TokenKind::kLeftBrace) && lexer_.read_integers('}', *numbers)) {
      if (numbers->size() == 2) {
        pairs.push_back({(*numbers)[0], (*numbers)[1]});
        return true;
      }
      lexer_.jump(begin);  // to say what is wrong
    }
    if (!expect(TokenKind::kLeftBrace, "before a pair") ||
        !expect_int(pair.source, "the source of a pair") ||
        !expect(TokenKind::kComma, "between source and target") ||
        !expect_int(pair.target, "the target of a pair") ||
        !expect(TokenKind::kRightBrace, "behind a pair")) {
      return false;
    }
    pairs.push_back(pair);
    return true;
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the pairs", element)) {
    return false;
  }
  set_range(attribute, arena().copy(pairs));
  return true;
}

bool TextParser::read_shape(Attribute& attribute) {
  const Shape* shape;
  if (!parse_shape(shape)) return false;
  attribute.data = shape;
  return true;
}

bool TextParser::read_shapes(Attribute& attribute) {
  std::vector<const Shape*> shapes;
  auto element = [&] { return parse_shape(shapes.emplace_back()); };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the shapes", element)) {
    return false;
  }
  set_range(attribute, arena().copy(shapes));
  return true;
}

bool TextParser::read_program_shape(Attribute& attribute) {
  std::vector<const Shape*> parameters;
  ProgramShape program{};
  auto element = [&] { return parse_shape(parameters.emplace_back()); };
  if (!expect(TokenKind::kLeftBrace, "before the layout") ||
      !parse_list(TokenKind::kLeftParen, TokenKind::kRightParen, "around the parameters", element,
                  true) ||
      !expect(TokenKind::kArrow, "before the result") || !parse_shape(program.result) ||
      !expect(TokenKind::kRightBrace, "behind the layout")) {
    return false;
  }
  program.parameters = arena().copy(parameters);
  attribute.data = arena().make<ProgramShape>(program);
  return true;
}

bool TextParser::read_literal(Attribute& attribute) {
  const Literal* literal;
  if (!parse_shaped_literal(literal)) return false;
  attribute.data = literal;
  return true;
}

bool TextParser::parse_computation_value(Computation*& computation) {
  if (at(TokenKind::kLeftBrace)) {
    computation = parse_body("_", token().location());
    return computation != nullptr;
  }
  Token name;
  if (!expect_name("the name of a computation, or its body", name)) return false;
  // Most often they are called in the order in which they stand.
  const auto all = computations_.begin();
  const auto* found = next_called_ < computations_.size()
                          ? &all[static_cast<std::ptrdiff_t>(next_called_)]
                          : nullptr;
  if (!found || !same_text(found->text, name.text)) found = computations_.find(name.text);
  if (!found) {
    fail("undefined-computation", name.location(),
         fmt::format("no computation '{}' stands before this one", name.text));
    std::vector<std::string_view> known;
    for (const auto& entry : computations_) known.push_back(entry.text);
    note_suggestion(name.text, known);
    return false;
  }
  next_called_ = static_cast<size_t>(found - &*all) + 1;
  computation = found->value;
  return computation != nullptr;
}

bool TextParser::read_computation(Attribute& attribute) {
  Computation* computation;
  if (!parse_computation_value(computation)) return false;
  attribute.data = computation;
  return true;
}

bool TextParser::read_computations(Attribute& attribute) {
  std::vector<Computation*> computations;
  auto element = [&] { return parse_computation_value(computations.emplace_back()); };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the computations",
                  element)) {
    return false;
  }
  set_range(attribute, arena().copy(computations));
  return true;
}

bool TextParser::read_instructions(Attribute& attribute) {
  std::vector<Instruction*> instructions;
  const Token place = token();
  auto element = [&] {
    Token name;
    if (!expect_name("an instruction's name", name)) return false;
    return resolve_operand(name, nullptr, instructions.emplace_back());
  };
  if (!parse_list(TokenKind::kLeftBrace, TokenKind::kRightBrace, "around the instructions",
                  element)) {
    return false;
  }
  if (instructions.empty()) return fail("invalid-value", place.location(), "the list is empty");
  set_range(attribute, arena().copy(instructions));
  return true;
}

bool TextParser::read_metadata(Attribute& attribute) {
  auto values = attribute_pool_.lease();
  if (!parse_dictionary(metadata_attributes(), *values)) return false;
  set_range(attribute, arena().copy(*values));
  return true;
}

}  // namespace minihlo::internal
