#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ir/async_pairs.h"
#include "ir/instruction_rules.h"
#include "ir/shape_inference.h"
#include "ir/text/text_parser.h"
#include "ir/text/unique_names.h"

namespace minihlo::internal {

void TextParser::enter_scope(Computation* computation) {
  if (open_scopes_ == scopes_.size()) scopes_.push_back(std::make_unique<Scope>());
  Scope& entered = *scopes_[open_scopes_++];
  entered.computation = computation;
  entered.root = nullptr;
  entered.broken = false;
  entered.parameters.clear();
  entered.names.clear();
}

void TextParser::declare(std::string_view name, Instruction* instruction) {
  scope().names.insert(name, instruction);
  if (instruction) {
    instruction_names_.add(name);
  } else {
    broken_names_.push_back(name);
  }
}

void TextParser::declare(const Draft& draft, Instruction* instruction) {
  if (scope().names.size() != draft.new_names) return declare(draft.name.text, instruction);
  scope().names.insert_new(draft.name.text, narrowed(draft.hash), instruction);
  instruction_names_.add(draft.name.text, draft.hash);
}

bool TextParser::is_declared(std::string_view name) const {
  for (const Computation* computation : module_->computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (same_text(instruction->name(), name)) return true;
    }
  }
  return std::ranges::find(broken_names_, name) != broken_names_.end();
}

bool TextParser::parse_instruction() {
  Draft draft;
  const Token start = token();
  current_instruction_ = {};
  // A bare instruction may start with its shape.
  const bool unnamed = bare_ && open_scopes_ == 1 && at_shape();
  draft.root = !unnamed && accept_word("ROOT");
  if (unnamed) {
    draft.name = start;
    draft.name.text = "_";
  } else if (!recall_head(draft)) {
    if (!expect_name("an instruction's name", draft.name)) return false;
    if (!at(TokenKind::kEqual)) return fail_expected("'=' behind the instruction's name");
    lexer_.advance();
  }
  current_instruction_ = draft.name.text;

  bool ok = true;
  if (!is_allowed_name(draft.name.text)) {
    ok = fail(
        "invalid-name", draft.name.location(),
        fmt::format("expected an instruction's name, and '{}' can't be a name", draft.name.text));
  }
  draft.hash = hash_text_wide(draft.name.text);
  const auto* known = scope().names.find(draft.name.text, narrowed(draft.hash));
  draft.new_names = known ? std::string_view::npos : scope().names.size();
  if (known) ok = is_free(draft.name);
  if (draft.root && scope().root) {
    fail("duplicate-root", start.location(), "the computation has a ROOT already");
    last_error_->notes.push_back({"it is here", scope().root->location()});
    ok = false;
  }
  ok = parse_rest(draft) && ok;
  if (!ok) declare(draft.name.text, nullptr);
  return ok;
}

bool TextParser::is_free(const Token& name) {
  const auto* known = scope().names.find(name.text);
  if (!known) return true;
  fail("duplicate-name", name.location(),
       fmt::format("the computation has another instruction '{}'", name.text));
  if (known->value) last_error_->notes.push_back({"it is here", known->value->location()});
  return false;
}

bool TextParser::parse_rest(Draft& draft) {
  if (draft.opcode_token.length == 0) {
    const size_t begin = token().offset;
    if (at_shape() && !parse_shape(draft.shape)) return false;
    if (!parse_opcode(draft)) return false;
    remember_head(begin, draft);
  }
  auto operand_lease = operand_pool_.lease();
  auto attribute_lease = attribute_pool_.lease();
  std::vector<Instruction*>& operands = *operand_lease;
  std::vector<Attribute>& attributes = *attribute_lease;
  if (draft.async == Draft::Async::kNone &&
      (draft.opcode == Opcode::kParameter || draft.opcode == Opcode::kConstant)) {
    if (!parse_value_operand(draft, attributes)) return false;
  } else if (!parse_operands(draft, operands)) {
    return false;
  }
  const size_t before = attributes.size();
  if (!parse_attributes(draft, operands, attributes)) return false;
  if (draft.async == Draft::Async::kStart) {
    if (!wrap_async_start(draft, operands, attributes)) return false;
  }
  if (draft.opcode == Opcode::kAsyncStart) drop_main_thread(attributes);
  if (!check_operand_count(draft, operands.size())) return false;
  const bool continues = continues_async(draft.opcode);
  if (continues && !check_async_chain(draft, operands, attributes)) return false;
  if (!settle_shape(draft, operands, attributes)) return false;
  // A bare instruction's operands may have taken its name.
  if (bare_ && !is_free(draft.name)) return false;
  Instruction* made = scope().computation->append(draft.opcode, draft.name.text, draft.shape,
                                                  operands, attributes, draft.name.location());
  if (draft.opcode == Opcode::kAsyncUpdate) async_starts_[made] = async_start(operands[0]);
  remember_attributes(draft, made->attributes().subspan(before));
  declare(draft, made);
  if (draft.root) scope().root = made;
  return true;
}

bool TextParser::parse_opcode(Draft& draft) {
  if (!at(TokenKind::kWord)) return fail_expected("an opcode");
  draft.opcode_token = token();
  if (std::optional<Opcode> opcode = opcode_from(token().text)) {
    draft.opcode = *opcode;
  } else if (!parse_async_opcode(draft)) {
    std::string_view word = token().text;
    if (element_type_from(word)) {
      return fail("expected-token", token().location(),
                  fmt::format("'{0}' needs its dimensions: {0}[2,3], or {0}[] for a scalar", word));
    }
    fail("unknown-opcode", token().location(), fmt::format("there is no opcode '{}'", word));
    std::vector<std::string_view> known;
    for (int i = 0; i < kOpcodeCount; ++i) known.push_back(to_string(static_cast<Opcode>(i)));
    note_suggestion(word, known);
    return false;
  }
  lexer_.advance();
  return true;
}

bool TextParser::parse_value_operand(Draft& draft, std::vector<Attribute>& attributes) {
  if (draft.opcode == Opcode::kParameter) return parse_parameter_number(attributes);
  if (!expect(TokenKind::kLeftParen, "behind the opcode")) return false;
  if (!draft.shape) {
    return fail("missing-shape", draft.opcode_token.location(),
                "the shape of a constant must be written");
  }
  const Literal* literal;
  if (!parse_literal(draft.shape, literal)) return false;
  attributes.push_back(make_attribute(attr::literal_value, literal));
  return expect(TokenKind::kRightParen, "behind the value");
}

bool TextParser::parse_parameter_number(std::vector<Attribute>& attributes) {
  Token number;
  const bool plain = read_plain_number(number);
  if (!plain) {
    if (!expect(TokenKind::kLeftParen, "behind the opcode")) return false;
    number = token();
    if (!expect_int(number.integer, "the parameter's number")) return false;
  }
  if (number.integer < 0) {
    return fail("invalid-parameter", number.location(), "a parameter's number can't be negative");
  }
  // The list of parameters is as long as the largest number says.
  constexpr int64_t kMaxParameters = int64_t{1} << 20;
  if (number.integer >= kMaxParameters) {
    return fail("invalid-parameter", number.location(),
                fmt::format("a parameter's number must be less than {}", kMaxParameters));
  }
  std::vector<bool>& taken = scope().parameters;
  const auto place = static_cast<size_t>(number.integer);
  if (taken.size() <= place) taken.resize(place + 1);
  if (taken[place]) {
    return fail("duplicate-parameter", number.location(),
                fmt::format("the computation has a parameter {} already", place));
  }
  taken[place] = true;
  attributes.push_back(make_attribute(attr::parameter_number, number.integer));
  return plain || expect(TokenKind::kRightParen, "behind the value");
}

bool TextParser::parse_operands(Draft& draft, std::vector<Instruction*>& operands) {
  if (at(TokenKind::kLeftParen) && read_plain_operands(operands)) return true;
  if (!accept(TokenKind::kLeftParen)) {
    return fail_expected(fmt::format("'(' behind the opcode '{}'", draft.opcode_token.text));
  }
  // As in XLA, commas may be too many.
  while (!at(TokenKind::kRightParen)) {
    if (accept(TokenKind::kComma)) continue;
    if (!parse_operand(operands)) return false;
    if (!accept(TokenKind::kComma)) break;
  }
  return expect(TokenKind::kRightParen, "behind the operands");
}

bool TextParser::parse_operand(std::vector<Instruction*>& operands) {
  // The common form first: a name and nothing else.
  const Shape* shape = nullptr;
  const Token start = token();
  if (!at(TokenKind::kName) && at_shape() && !parse_shape(shape)) return false;
  Instruction* operand = nullptr;
  const bool is_name = at_name();
  const bool is_nested = is_name && lexer_.next_character() == '(';
  if (is_nested) {
    if (!parse_nested_operand(shape, operand)) return false;
  } else if (is_name) {
    Token name;
    if (!expect_name("an operand", name)) return false;
    // A shape before the name is that of the element, where one is taken.
    const bool is_element = at(TokenKind::kHash);
    if (!resolve_operand(name, is_element ? nullptr : shape, operand)) return false;
    while (at(TokenKind::kHash)) {
      if (!parse_tuple_index(operand)) return false;
    }
    if (is_element && shape && !fits(name, shape, operand)) return false;
  } else if (bare_ && shape && open_scopes_ == 1) {
    // An operand that is only a shape is a parameter without a name of its own.
    std::string name = fmt::format("_{}", scope().computation->parameters().size());
    operand = make_anonymous(
        Opcode::kParameter, start, arena().copy_string(name), shape, {},
        std::array{make_attribute(attr::parameter_number,
                                  static_cast<int64_t>(scope().computation->parameters().size()))});
  } else {
    return fail_expected("an operand");
  }
  operands.push_back(operand);
  return true;
}

bool TextParser::fits(const Token& name, const Shape* shape, const Instruction* operand) {
  if (compatible_but_for_dynamic(shape, operand->shape())) return true;
  fail("operand-shape-mismatch", name.location(),
       fmt::format("'{}' is {}, not {}", operand->name(), to_string(operand->shape()),
                   to_string(shape)));
  last_error_->notes.push_back({"it is defined here", operand->location()});
  return false;
}

bool TextParser::resolve_operand(const Token& name, const Shape* shape, Instruction*& operand) {
  if (const auto* found = scope().names.find(name.text)) {
    operand = found->value;
    if (!operand) return false;
    return !shape || fits(name, shape, operand);
  }
  if (bare_ && shape && open_scopes_ == 1) {
    auto number = static_cast<int64_t>(scope().computation->parameters().size());
    operand = scope().computation->append(
        Opcode::kParameter, name.text, shape, {},
        std::array{make_attribute(attr::parameter_number, number)}, name.location());
    declare(name.text, operand);
    return true;
  }
  fail("undefined-operand", name.location(),
       fmt::format("no instruction '{}' stands before this one", name.text));
  // The first errors are read; looking through all names takes longer than the rest of an error.
  constexpr size_t kSearched = 100;
  if (diagnostics_.error_count() <= kSearched && is_declared(name.text)) {
    last_error_->notes.push_back({"another computation has an instruction of that name", {}});
  } else {
    constexpr size_t kCandidates = 500;
    std::vector<std::string_view> candidates;
    std::span<Instruction* const> all = scope().computation->instructions();
    size_t first = all.size() - std::min(all.size(), kCandidates);
    for (const Instruction* instruction : all.subspan(first)) {
      candidates.push_back(instruction->name());
    }
    note_suggestion(name.text, candidates);
  }
  return false;
}

bool TextParser::parse_nested_operand(const Shape* shape, Instruction*& operand) {
  Nesting nesting(*this);
  if (!nesting.ok()) return false;
  Draft draft;
  draft.shape = shape;
  if (!parse_opcode(draft)) return false;
  if (draft.async != Draft::Async::kNone) {
    return fail("invalid-operand", draft.opcode_token.location(),
                "an asynchronous operation can't be written inside another");
  }
  std::vector<Instruction*> operands;
  std::vector<Attribute> attributes;
  if (draft.opcode == Opcode::kParameter || draft.opcode == Opcode::kConstant) {
    if (!parse_value_operand(draft, attributes)) return false;
  } else if (!parse_operands(draft, operands)) {
    return false;
  }
  if (!check_required(draft, operands, attributes) ||
      !check_operand_count(draft, operands.size()) || !settle_shape(draft, operands, attributes)) {
    return false;
  }
  std::string name = fmt::format("{}.anon", to_string(draft.opcode));
  operand = make_anonymous(draft.opcode, draft.opcode_token, arena().copy_string(name), draft.shape,
                           operands, attributes);
  return true;
}

bool TextParser::parse_tuple_index(Instruction*& operand) {
  const Token hash = token();
  lexer_.advance();
  int64_t index;
  if (!expect_int(index, "the index of a tuple element")) return false;
  const Shape* tuple = operand->shape();
  if (!tuple->is_tuple() || index < 0 || index >= static_cast<int64_t>(tuple->elements().size())) {
    return fail(
        "invalid-operand", hash.location(),
        fmt::format("'{}' has no element {}: it is {}", operand->name(), index, to_string(tuple)));
  }
  Instruction*& shared = tuple_elements_[{operand, index}];
  if (!shared) {
    // A name that is very long is not written once more for every element.
    constexpr size_t kLongName = 1000;
    std::string name(to_string(Opcode::kGetTupleElement));
    if (operand->name().size() <= kLongName) name = fmt::format("{}_{}", operand->name(), index);
    // No operand can be meant by that name.
    const std::string_view kept = arena().copy_string(name);
    instruction_names_.add(kept);
    shared = scope().computation->append(
        Opcode::kGetTupleElement, kept, tuple->element(index), std::array{operand},
        std::array{make_attribute(attr::index, index)}, hash.location());
  }
  operand = shared;
  return true;
}

Instruction* TextParser::make_anonymous(Opcode opcode, const Token& place, std::string_view name,
                                        const Shape* shape, std::span<Instruction* const> operands,
                                        std::span<const Attribute> attributes) {
  Instruction* made =
      scope().computation->append(opcode, name, shape, operands, attributes, place.location());
  declare(name, made);
  return made;
}

bool TextParser::parse_attributes(Draft& draft, std::span<Instruction* const> operands,
                                  std::vector<Attribute>& attributes) {
  recall_attributes(draft, attributes);
  while (accept(TokenKind::kComma)) {
    if (!at(TokenKind::kKey)) return fail_expected("an attribute such as 'metadata='");
    const Token key = token();
    const AttributeUse* use = find_attribute_use(draft.opcode, key.text);
    // XLA's parser knows the key everywhere, and dies where it isn't a parameter's.
    if (use && use->id == AttributeId::parameter_replication &&
        draft.opcode != Opcode::kParameter) {
      use = nullptr;
    }
    if (!use && draft.async == Draft::Async::kStart) {
      use = find_attribute_use(Opcode::kAsyncStart, key.text);
    }
    if (!use) {
      fail("unknown-attribute", key.location(),
           fmt::format("'{}' takes no attribute '{}'", draft.opcode_token.text, key.text));
      std::vector<std::string_view> known;
      for (const AttributeUse& own : info(draft.opcode).attributes) {
        if (!info(own.id).text.empty()) known.push_back(info(own.id).text);
      }
      for (const AttributeUse& common : common_attributes()) {
        if (info(common.id).text != key.text) known.push_back(info(common.id).text);
      }
      note_suggestion(key.text, known);
      return false;
    }
    lexer_.advance();
    if (!add_attribute(use, key, attributes)) return false;
  }
  if (at(TokenKind::kKey)) return fail_expected("',' before the attribute");
  keep_first_dimension(draft, attributes);
  if (draft.opcode == Opcode::kCustomCall && !normalize_custom_call(draft, attributes))
    return false;
  // Where nothing is said XLA's parser says this, and its printer too.
  if (draft.opcode == Opcode::kScan && !find(attributes, attr::is_associative)) {
    attributes.push_back(make_attribute(attr::is_associative, false));
  }
  return check_required(draft, operands, attributes);
}

// to_apply of a custom-call is called_computations with one element; XLA prints it so.
bool TextParser::normalize_custom_call(const Draft& draft, std::vector<Attribute>& attributes) {
  auto to_apply = find(attributes, attr::to_apply);
  if (!to_apply) return true;
  if (find_attribute(attributes, AttributeId::called_computations)) {
    return fail("conflicting-attributes", draft.opcode_token.location(),
                "a custom-call takes to_apply or called_computations, not both");
  }
  for (Attribute& attribute : attributes) {
    if (attribute.id != AttributeId::to_apply) continue;
    attribute = make_attribute(attr::called_computations, arena().copy(std::array{*to_apply}));
  }
  return true;
}

bool TextParser::check_required(const Draft& draft, std::span<Instruction* const> operands,
                                std::span<const Attribute> attributes) {
  auto broken =
      check_required_attributes(draft.opcode, draft.opcode_token.text, operands, attributes);
  return !broken || fail(broken->rule, draft.opcode_token.location(), std::move(broken->message));
}

bool TextParser::check_operand_count(const Draft& draft, size_t count) {
  auto broken = minihlo::check_operand_count(draft.opcode, draft.opcode_token.text, count);
  return !broken || fail(broken->rule, draft.opcode_token.location(), std::move(broken->message));
}

void TextParser::replace_shape(Draft& draft, std::span<Instruction* const> operands,
                               std::span<const Attribute> attributes) {
  switch (draft.opcode) {
    case Opcode::kAddDependency:
    case Opcode::kAfterAll:
    case Opcode::kInfeed:
    case Opcode::kOutfeed:
    case Opcode::kRecv:
    case Opcode::kRecvDone:
    case Opcode::kSend:
    case Opcode::kSendDone:
      break;
    default:
      return;
  }
  auto inferred = infer_shape(module_->shapes(), {draft.opcode, operands, attributes, draft.shape});
  if (!inferred || *inferred == draft.shape) return;
  if (!compatible_but_for_dynamic(*inferred, draft.shape)) {
    diagnostics_
        .warning("ignored-shape", draft.opcode_token.location(),
                 fmt::format("the shape is written as {}, but '{}' gives {}, which counts",
                             to_string(draft.shape, false), draft.opcode_token.text,
                             to_string(*inferred, false)))
        .instruction = draft.name.text;
  }
  draft.shape = *inferred;
}

void TextParser::keep_first_dimension(Draft& draft, std::vector<Attribute>& attributes) {
  switch (draft.opcode) {
    case Opcode::kAllGather:
    case Opcode::kAllGatherStart:
    case Opcode::kGetDimensionSize:
    case Opcode::kReduceScatter:
    case Opcode::kSetDimensionSize:
      break;
    default:
      return;
  }
  for (Attribute& attribute : attributes) {
    if (attribute.id != attr::dimensions.id) continue;
    std::span<const int64_t> all = get(attributes, attr::dimensions);
    if (all.size() < 2) return;
    diagnostics_
        .warning("ignored-dimensions", draft.opcode_token.location(),
                 fmt::format("'{}' takes one dimension: of dimensions={{{}}} the first counts",
                             draft.opcode_token.text, fmt::join(all, ",")))
        .instruction = draft.name.text;
    attribute = make_attribute(attr::dimensions, all.first(1));
    draft.tail = {};  // the next one is to be warned of as well
  }
}

bool TextParser::settle_shape(Draft& draft, std::span<Instruction* const> operands,
                              std::span<const Attribute> attributes) {
  if (draft.shape) {
    replace_shape(draft, operands, attributes);
    return true;
  }
  if (info(draft.opcode).result_shape == ResultShape::kGiven ||
      !has_shape_inference(draft.opcode)) {
    return fail("missing-shape", draft.opcode_token.location(),
                fmt::format("the shape of '{}' must be written", draft.opcode_token.text));
  }
  auto inferred = infer_shape(module_->shapes(), {draft.opcode, operands, attributes, nullptr});
  if (!inferred) {
    return fail("shape-inference", draft.opcode_token.location(), std::move(inferred.error()));
  }
  draft.shape = *inferred;
  return true;
}

}  // namespace minihlo::internal
