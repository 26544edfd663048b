// X-start, X-update and X-done, where X is any opcode without asynchronous forms of its own, stand
// for async-start, -update and -done of a computation that holds X alone.
#include <fmt/format.h>

#include "ir/async_state.h"
#include "ir/text/text_parser.h"

namespace minihlo::internal {
namespace {

constexpr std::string_view kMainThread = "main";

bool has_own_forms(std::string_view opcode) {
  return opcode_from(std::string(opcode) + "-start") || opcode_from(std::string(opcode) + "-done");
}

// Attributes of the start that say something about the work itself, too.
bool is_copied_to_wrapped(AttributeId id) {
  return id == AttributeId::metadata || id == AttributeId::backend_config ||
         id == AttributeId::frontend_attributes || id == AttributeId::statistics ||
         id == AttributeId::origin;
}

}  // namespace

bool TextParser::parse_async_opcode(Draft& draft) {
  using Async = Draft::Async;
  struct Suffix {
    std::string_view text;
    Async async;
    Opcode opcode;
  };
  constexpr Suffix kSuffixes[] = {{"-start", Async::kStart, Opcode::kAsyncStart},
                                  {"-update", Async::kUpdate, Opcode::kAsyncUpdate},
                                  {"-done", Async::kDone, Opcode::kAsyncDone}};
  for (const Suffix& suffix : kSuffixes) {
    std::string_view word = token().text;
    if (!word.ends_with(suffix.text)) continue;
    word.remove_suffix(suffix.text.size());
    std::optional<Opcode> wrapped = opcode_from(word);
    if (!wrapped || has_own_forms(word) || info(*wrapped).family == Family::kAsync) return false;
    draft.async = suffix.async;
    draft.wrapped = *wrapped;
    draft.opcode = suffix.async == Async::kStart ? *wrapped : suffix.opcode;
    return true;
  }
  return false;
}

void TextParser::drop_main_thread(std::vector<Attribute>& attributes) {
  std::erase_if(attributes, [](const Attribute& attribute) {
    return attribute.id == AttributeId::async_execution_thread &&
           attribute_value<std::string_view>(attribute) == kMainThread;
  });
}

bool TextParser::wrap_async_start(Draft& draft, std::vector<Instruction*>& operands,
                                  std::vector<Attribute>& attributes) {
  if (!draft.shape) {
    return fail("missing-shape", draft.opcode_token.location(),
                fmt::format("the shape of '{}' must be written", draft.opcode_token.text));
  }
  const Shape* shape = draft.shape;
  if (!is_async_state(shape)) {
    return fail("invalid-async-shape", draft.opcode_token.location(),
                fmt::format("the shape of '{}' must be ((operands), result, ...), not {}",
                            draft.opcode_token.text, to_string(shape)));
  }
  if (!check_operand_count(draft, operands.size())) return false;
  if (Computation* called = get(attributes, attr::to_apply);
      draft.opcode == Opcode::kCall && is_bound_later(called, operands.size(), shape)) {
    // No call can be made of what is there: the start itself takes what the call would.
    for (Attribute& attribute : attributes) {
      if (attribute.id == AttributeId::to_apply) attribute = make_attribute(attr::calls, called);
    }
    draft.opcode = Opcode::kAsyncStart;
    return true;
  }

  std::vector<Attribute> outer, inner;
  std::string_view thread = kMainThread;
  for (const Attribute& attribute : attributes) {
    bool own = false;
    for (const AttributeUse& use : info(draft.opcode).attributes) own |= use.id == attribute.id;
    bool copied = is_copied_to_wrapped(attribute.id);
    if (own || copied || attribute.id == AttributeId::result_accuracy) inner.push_back(attribute);
    if (!own) outer.push_back(attribute);
    if (attribute.id == AttributeId::async_execution_thread) {
      thread = attribute_value<std::string_view>(attribute);
    }
  }

  Computation* wrapped = module_->add_computation("async_computation", draft.name.location());
  wrapped->set_execution_thread(thread);
  enter_scope(wrapped);
  std::vector<Instruction*> parameters;
  for (const Instruction* operand : operands) {
    Attribute number =
        make_attribute(attr::parameter_number, static_cast<int64_t>(parameters.size()));
    parameters.push_back(make_anonymous(Opcode::kParameter, draft.name, "async_param",
                                        operand->shape(), {}, std::span(&number, 1)));
  }
  wrapped->set_root(
      make_anonymous(draft.opcode, draft.name, "async_op", shape->element(1), parameters, inner));
  leave_scope();
  finished_.push_back(wrapped);

  outer.push_back(make_attribute(attr::calls, wrapped));
  attributes = std::move(outer);
  draft.opcode = Opcode::kAsyncStart;
  return true;
}

Instruction* TextParser::async_start(Instruction* instruction) const {
  if (instruction->opcode() == Opcode::kAsyncStart) return instruction;
  auto found = async_starts_.find(instruction);
  return found == async_starts_.end() ? nullptr : found->second;
}

bool TextParser::check_async_chain(const Draft& draft, std::span<Instruction* const> operands,
                                   std::vector<Attribute>& attributes) {
  const Location place = draft.opcode_token.location();
  // What is no such shape at all is the verifier's to tell: a result may only come to be known
  // here.
  const Shape* before = operands[0]->shape();
  if (draft.opcode == Opcode::kAsyncUpdate && draft.shape && operands.size() == 1 &&
      draft.shape != before && compatible_but_for_dynamic(draft.shape, before)) {
    return fail("async-chain", place,
                fmt::format("'{}' must have the shape of its operand '{}', {}, not {}",
                            draft.opcode_token.text, operands[0]->name(), to_string(before),
                            to_string(draft.shape)));
  }
  const Instruction* start = async_start(operands[0]);
  if (!start) {
    // It may be carried through a loop, a branch or a tuple.
    if (is_async_state(operands[0]->shape())) return true;
    return fail("async-chain", place,
                fmt::format("the operand of '{}' must be an async-start or async-update, not '{}'",
                            draft.opcode_token.text, operands[0]->name()));
  }
  auto disagree = [&](std::string_view what) {
    fail("async-chain", place,
         fmt::format("'{}' has another {} than its start '{}'", draft.opcode_token.text, what,
                     start->name()));
    last_error_->notes.push_back({"the start is here", start->location()});
    return false;
  };
  const Computation* calls = start->get(attr::calls);
  const bool bound_later = is_bound_later(calls, start->operand_count(), start->shape());
  if (draft.async != Draft::Async::kNone && draft.wrapped != calls->root()->opcode() &&
      !(draft.wrapped == Opcode::kCall && bound_later)) {
    return disagree("opcode");
  }
  if (auto own = find(attributes, attr::calls); own && *own != calls) {
    return disagree("computation");
  }
  if (auto own = find(attributes, attr::async_execution_thread);
      own && *own != start->find(attr::async_execution_thread).value_or(kMainThread)) {
    return disagree("execution thread");
  }
  // Said once, at the start.
  std::erase_if(attributes, [&](const Attribute& attribute) {
    return attribute.id == AttributeId::calls ||
           attribute.id == AttributeId::async_execution_thread;
  });
  return true;
}

}  // namespace minihlo::internal
