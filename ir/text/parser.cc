#include "ir/text/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

#include "ir/text/strings.h"
#include "ir/text/text_parser.h"

namespace minihlo {

std::unique_ptr<Module> parse_text(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                                   const ParseOptions& options) {
  // Locations are 32 bits wide.
  if (source->text().size() >= std::numeric_limits<uint32_t>::max()) {
    diagnostics.error("text-too-long", {}, "the text is 4 GiB or longer");
    return nullptr;
  }
  return internal::TextParser(std::move(source), diagnostics, options).run();
}

namespace internal {
namespace {

// XLA allows 8192; this is deeper than what any tool writes, and safe on a stack of a thread.
constexpr int kMaxDepth = 500;

}  // namespace

TextParser::TextParser(std::shared_ptr<const Source> source, Diagnostics& diagnostics,
                       const ParseOptions& options)
    : source_(std::move(source)),
      diagnostics_(diagnostics),
      errors_before_(diagnostics.error_count()),
      lexer_(source_->text()) {
  module_ = std::make_unique<Module>("", options.shapes);
  module_->keep(source_);
  // As many values as large modules of models have, and little for a small text.
  constexpr size_t kValues = 4096, kTextForOne = 1024;
  const size_t values = std::bit_ceil(std::min(lexer_.text().size() / kTextForOne, kValues));
  values_.resize(values);
  heads_.resize(values);
  tails_.resize(values);
}

std::unique_ptr<Module> TextParser::run() {
  bool is_module =
      at_word("HloModule") || at_word("ENTRY") || (at_name() && lexer_.next_character() == '{');
  if (is_module) {
    parse_module();
  } else if (at(TokenKind::kEnd)) {
    fail("expected-token", token().location(), "the text holds no module");
  } else if (at(TokenKind::kWord) && closest(token().text, {"HloModule"}) == "HloModule") {
    fail_expected("'HloModule'");
  } else {
    parse_bare_instruction();
  }
  return has_failed() ? nullptr : std::move(module_);
}

bool TextParser::Nesting::ok() {
  if (parser_.depth_ <= kMaxDepth) return true;
  parser_.fail("nested-too-deeply", parser_.token().location(),
               fmt::format("nested more than {} levels deep", kMaxDepth));
  // Nobody wrote this by hand: what follows is not worth a look at each level.
  parser_.lexer_.jump(parser_.lexer_.text().size());
  return false;
}

std::string TextParser::describe(const Token& token) const {
  constexpr size_t kShown = 40;
  switch (token.kind) {
    case TokenKind::kEnd:
    case TokenKind::kInvalid:
      return std::string(to_string(token.kind));
    default: {
      std::string_view whole = lexer_.text().substr(token.offset, token.length);
      std::string text(whole.substr(0, kShown));
      for (char& c : text) {
        if (static_cast<unsigned char>(c) < ' ') c = ' ';
      }
      return fmt::format("'{}{}'", text, whole.size() > kShown ? "..." : "");
    }
  }
}

bool TextParser::fail(std::string_view rule, Location place, std::string message) {
  if (at(TokenKind::kInvalid) && place.offset == token().offset) {
    rule = lexer_.problem_rule();
    message = lexer_.problem();
  }
  Diagnostic& error = diagnostics_.error(std::string(rule), place, std::move(message));
  error.instruction = current_instruction_;
  last_error_ = &error;
  // The place that is to blame may be far above.
  const size_t string = lexer_.long_string();
  if (string > noted_string_ && string < place.offset) {
    noted_string_ = string;
    error.notes.push_back(
        {"a string that starts here runs over several lines", {static_cast<uint32_t>(string), 1}});
  }
  return false;
}

bool TextParser::fail_expected(std::string_view expected) {
  return fail("expected-token", token().location(),
              fmt::format("expected {}, got {}", expected, describe(token())));
}

void TextParser::note_suggestion(std::string_view word,
                                 const std::vector<std::string_view>& candidates) {
  // The first errors are read; looking for what is close takes longer than all else of an error.
  constexpr size_t kSuggested = 100;
  if (diagnostics_.error_count() > kSuggested) return;
  std::string_view near = closest(word, candidates);
  if (!near.empty()) last_error_->notes.push_back({fmt::format("did you mean '{}'?", near), {}});
}

bool TextParser::expect(TokenKind kind, std::string_view where) {
  if (accept(kind)) return true;
  return fail_expected(fmt::format("{} {}", to_string(kind), where));
}

bool TextParser::expect_int(int64_t& value, std::string_view what) {
  if (!at(TokenKind::kInteger)) return fail_expected(what);
  value = token().integer;
  lexer_.advance();
  return true;
}

bool TextParser::expect_int32(int64_t& value) {
  const Token place = token();
  if (!expect_int(value, "an integer")) return false;
  if (value == static_cast<int32_t>(value)) return true;
  return fail("number-out-of-range", place.location(), "the integer does not fit 32 bits");
}

bool TextParser::expect_string(std::string_view& value, std::string_view what) {
  if (!at(TokenKind::kString)) return fail_expected(what);
  value = token().text;
  if (token().escaped) {
    scratch_.clear();
    if (!unescape(value, scratch_)) {
      return fail("invalid-escape", token().location(), "the string has a malformed escape");
    }
    value = arena().copy_string(scratch_);
  }
  lexer_.advance();
  return true;
}

bool TextParser::expect_name(std::string_view what, Token& name) {
  if (!at_name()) return fail_expected(what);
  name = token();
  // Behind % or before : a keyword is a name like any other.
  if (name.kind == TokenKind::kWord && is_reserved_word(name.text)) {
    return fail("invalid-name", name.location(),
                fmt::format("expected {}, and '{}' can't be a name", what, name.text));
  }
  lexer_.advance();
  return true;
}

}  // namespace internal
}  // namespace minihlo
