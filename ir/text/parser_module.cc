#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "ir/text/text_parser.h"
#include "ir/text/unique_names.h"

namespace minihlo::internal {

void TextParser::parse_module() {
  if (at_word("HloModule")) {
    // The rest of a bad line is lost, unless a computation starts there; what follows can be read.
    if (!parse_header() && !at_word("ENTRY") && !at(TokenKind::kName)) {
      size_t end = lexer_.text().find('\n', token().offset);
      lexer_.jump(end == std::string_view::npos ? lexer_.text().size() : end);
    }
    if (at_word("FileNames") && !parse_stack_frames()) skip_to_computation();
  }
  parse_computations();
}

bool TextParser::parse_header() {
  lexer_.advance();
  Token name;
  if (!expect_name("the module's name", name)) return false;
  module_->set_name(name.text);
  std::vector<Attribute> attributes;
  while (accept(TokenKind::kComma)) {
    if (!at(TokenKind::kKey)) return fail_expected("an attribute of the module");
    const Token key = token();
    const AttributeUse* found = find_attribute_use(module_attributes(), key.text);
    if (!found) {
      fail("unknown-attribute", key.location(),
           fmt::format("a module has no attribute '{}'", key.text));
      std::vector<std::string_view> known;
      for (const AttributeUse& use : module_attributes()) known.push_back(info(use.id).text);
      note_suggestion(key.text, known);
      return false;
    }
    lexer_.advance();
    if (!add_attribute(found, key, attributes)) return false;
  }
  for (const Attribute& attribute : attributes) module_->set(attribute);
  return true;
}

bool TextParser::parse_table_row(const std::vector<std::string_view>& keys,
                                 std::vector<int64_t>& values) {
  constexpr int64_t kMissing = std::numeric_limits<int64_t>::max();
  values.assign(keys.size(), kMissing);
  const Token open = token();
  if (!expect(TokenKind::kLeftBrace, "before the row's values")) return false;
  while (!accept(TokenKind::kRightBrace)) {
    accept(TokenKind::kComma);
    if (!at(TokenKind::kKey)) return fail_expected("'}' or a name followed by '='");
    const Token key = token();
    const auto column =
        static_cast<size_t>(std::find(keys.begin(), keys.end(), key.text) - keys.begin());
    if (column == keys.size()) {
      fail("unknown-attribute", key.location(), fmt::format("the row has no '{}'", key.text));
      note_suggestion(key.text, keys);
      return false;
    }
    if (values[column] != kMissing) {
      return fail("duplicate-attribute", key.location(),
                  fmt::format("'{}' is given twice", key.text));
    }
    lexer_.advance();
    if (!expect_int32(values[column])) return false;
  }
  auto missing = std::find(values.begin(), values.end(), kMissing);
  if (missing == values.end()) return true;
  return fail(
      "missing-attribute", open.location(),
      fmt::format("the row needs '{}'", keys[static_cast<size_t>(missing - values.begin())]));
}

bool TextParser::parse_stack_frames() {
  StackFrames& tables = module_->stack_frames();
  auto strings = [&](std::string_view title, std::vector<std::string_view>& rows) {
    if (!accept_word(title)) return fail_expected(fmt::format("the table '{}'", title));
    while (accept(TokenKind::kInteger)) {
      std::string_view text;
      if (!expect_string(text, "a string")) return false;
      rows.push_back(text);
    }
    return true;
  };
  std::vector<int64_t> row;
  auto numbers = [&](std::string_view title, const std::vector<std::string_view>& keys, auto add) {
    if (!accept_word(title)) return fail_expected(fmt::format("the table '{}'", title));
    while (accept(TokenKind::kInteger)) {
      if (!parse_table_row(keys, row)) return false;
      add();
    }
    return true;
  };
  return strings("FileNames", tables.file_names) &&
         strings("FunctionNames", tables.function_names) &&
         numbers(
             "FileLocations",
             {"file_name_id", "function_name_id", "line", "end_line", "column", "end_column"},
             [&] {
               tables.file_locations.push_back({row[0], row[1], row[2], row[3], row[4], row[5]});
             }) &&
         numbers("StackFrames", {"file_location_id", "parent_frame_id"}, [&] {
           tables.frames.push_back({row[0], row[1]});
         });
}

void TextParser::parse_computations() {
  Computation* entry = nullptr;
  Computation* last = nullptr;
  Location first_entry;
  if (at(TokenKind::kEnd)) {
    if (!has_failed()) fail_expected("a computation");
    return;
  }
  while (!at(TokenKind::kEnd) && !diagnostics_.full()) {
    const Token start = token();
    bool is_entry = accept_word("ENTRY");
    if (is_entry && first_entry.length > 0) {
      fail("duplicate-entry", start.location(), "the module has an ENTRY computation already");
      last_error_->notes.push_back({"it is here", first_entry});
    }
    if (is_entry && first_entry.length == 0) first_entry = start.location();
    size_t before = finished_.size();
    if (!parse_computation(is_entry)) {
      if (diagnostics_.full()) return;
      if (token().offset == start.offset) lexer_.advance();
      skip_to_computation();
    }
    if (finished_.size() > before) {
      last = finished_.back();
      if (is_entry) entry = last;
    }
  }
  if (!has_failed()) finish_module(entry, last);
}

bool TextParser::parse_computation(bool is_entry) {
  Token name;
  if (!expect_name(is_entry ? "the computation's name" : "a computation", name)) return false;
  const uint32_t hash = hash_text(name.text);
  const auto* other = computations_.find(name.text, hash);
  const bool duplicate = other != nullptr;
  if (duplicate) {
    fail("duplicate-name", name.location(),
         fmt::format("there is another computation '{}'", name.text));
    if (other->value) last_error_->notes.push_back({"it is here", other->value->location()});
  }
  const Shape* result = nullptr;
  Token result_token;
  bool signature_ok = true;
  if (at(TokenKind::kLeftParen) && !parse_signature(result, result_token)) {
    // Most likely the body follows on the same line.
    signature_ok = false;
    std::string_view text = lexer_.text();
    size_t end = std::min(text.find('\n', token().offset), text.size());
    size_t brace = text.find_last_not_of(" \t\r", end - 1);
    if (brace == text.npos || text[brace] != '{' || brace < token().offset) {
      computations_[name.text] = nullptr;
      return false;
    }
    lexer_.jump(brace);
  }
  if (!at(TokenKind::kLeftBrace)) {
    computations_[name.text] = nullptr;
    return fail_expected("'{' before the computation's instructions");
  }
  std::string_view given = name.text;
  if (!is_allowed_name(given)) given = arena().copy_string(allowed_name(given));
  Computation* computation = parse_body(given, name.location());
  if (!computation || !signature_ok) {
    computations_[name.text] = nullptr;
  } else {
    // Bodies inside this one have no names, so none has come between.
    if (!duplicate) computations_.insert_new(name.text, hash, computation);
    if (result && !compatible_but_for_dynamic(result, computation->root()->shape())) {
      fail("signature-mismatch", result_token.location(),
           fmt::format("computation '{}' says its result is {}, but its root '{}' is {}", name.text,
                       to_string(result), computation->root()->name(),
                       to_string(computation->root()->shape())));
      last_error_->notes.push_back({"the root is here", computation->root()->location()});
      computations_[name.text] = nullptr;
    }
  }
  if (at(TokenKind::kEnd) && !computation) return true;
  if (accept(TokenKind::kComma)) {
    std::string_view thread;
    if (!accept_key("execution_thread")) return fail_expected("'execution_thread='");
    if (!expect_string(thread, "the name of a thread, in quotes")) return false;
    if (computation) computation->set_execution_thread(thread);
  }
  return true;
}

bool TextParser::parse_signature(const Shape*& result, Token& result_token) {
  bool first = true;
  auto parameter = [&] {
    if (std::exchange(first, false) && skip_plain_parameters()) return true;
    // The colon belongs to the name and may be left out; behind % there is none.
    Token name;
    if (!expect_name("a parameter's name", name)) return false;
    const Shape* shape;
    return parse_shape(shape);
  };
  if (!parse_list(TokenKind::kLeftParen, TokenKind::kRightParen, "around the parameters",
                  parameter)) {
    return false;
  }
  if (!expect(TokenKind::kArrow, "before the result's shape")) return false;
  result_token = token();
  return parse_shape(result);
}

Computation* TextParser::parse_body(std::string_view name, Location location) {
  Nesting nesting(*this);
  if (!nesting.ok()) return nullptr;
  Computation* computation = module_->add_computation(name, location);
  enter_scope(computation);
  const std::string_view outer_instruction = current_instruction_;
  const Token open = token();
  lexer_.advance();
  if (at(TokenKind::kRightBrace)) {
    fail("empty-computation", token().location(), "a computation needs an instruction");
    scope().broken = true;
  }
  while (!accept(TokenKind::kRightBrace)) {
    if (diagnostics_.full()) {
      scope().broken = true;
      break;
    }
    if (at(TokenKind::kEnd)) {
      // After an error the end may only have been missed.
      if (!scope().broken) {
        fail("unfinished-computation", token().location(), "expected '}' before the text ends");
        last_error_->notes.push_back({"to match this", open.location()});
      }
      scope().broken = true;
      break;
    }
    const uint32_t start = token().offset;
    if (!parse_instruction()) {
      scope().broken = true;
      skip_to_instruction(start);
    }
  }
  computation->drop_far_parameters();
  bool broken = scope().broken;
  if (!broken) {
    computation->set_root(scope().root ? scope().root : computation->instructions().back());
    finished_.push_back(computation);
  }
  leave_scope();
  current_instruction_ = outer_instruction;
  return broken ? nullptr : computation;
}

void TextParser::parse_bare_instruction() {
  bare_ = true;
  module_->set_name("_");
  // XLA's word for it, and true: there is but one order.
  module_->set(make_attribute(attr::is_scheduled, true));
  Computation* computation = module_->add_computation("_");
  enter_scope(computation);
  if (!parse_instruction()) return;
  if (!at(TokenKind::kEnd)) {
    fail_expected("the end of the text behind the instruction");
    return;
  }
  computation->set_root(computation->instructions().back());
  finished_.push_back(computation);
  finish_module(computation, computation);
}

void TextParser::finish_module(Computation* marked_entry, Computation* last) {
  // An inner body ends before the one around it, so this is: callees first.
  module_->order_computations(finished_);
  module_->set_entry(marked_entry ? marked_entry : last);
  if (module_->name().empty()) {
    module_->set_name(fmt::format("module_{}", module_->entry()->name()));
  }
  // XLA names the computation around a bare instruction before those inside it.
  make_names_unique(*module_, instruction_names_, bare_ ? module_->entry() : nullptr);
}

}  // namespace minihlo::internal
