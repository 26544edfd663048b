#include "ir/semantics/wrapped_collectives.h"

#include <array>

#include <fmt/format.h>

#include "ir/rewriter.h"
#include "ir/semantics/custom_calls.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/verifier.h"

namespace minihlo {
namespace {

struct Operation {
  Opcode opcode;
  std::string_view name;
  bool reduces;
};
constexpr Operation kOperations[] = {
    {Opcode::kAllGather, "AwsNeuronAllGather", false},
    {Opcode::kAllReduce, "AwsNeuronAllReduce", true},
    {Opcode::kReduceScatter, "AwsNeuronReduceScatter", true},
};

struct Reducer {
  Opcode opcode;
  std::string_view name;
};
constexpr Reducer kReducers[] = {
    {Opcode::kAdd, "Add"},
    {Opcode::kMaximum, "Max"},
    {Opcode::kMinimum, "Min"},
};
constexpr std::string_view kOtherReducer = "UNKNOWNOP";

const Operation* operation_of(std::string_view target) {
  for (const Operation& operation : kOperations) {
    if (target.starts_with(operation.name)) return &operation;
  }
  return nullptr;
}

// The reducer that a target names, where it is one of the table.
const Reducer* reducer_of(std::string_view target, const Operation& operation) {
  target.remove_prefix(operation.name.size());
  for (const Reducer& reducer : kReducers) {
    if (target.starts_with(reducer.name)) return &reducer;
  }
  return nullptr;
}

bool is_wrapped(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCustomCall) return false;
  const CustomCallTarget* row = find_custom_call(instruction.get(attr::custom_call_target));
  return row && row->meaning == CustomCallMeaning::kCollective;
}

const Shape* first_array(const Shape* shape) {
  return shape->is_tuple() && !shape->elements().empty() ? shape->element(0) : shape;
}

// A module with one instruction of the opcode and of attributes as they stand in the text.
tl::expected<std::shared_ptr<Module>, std::string> read_attributes(const Operation& operation,
                                                                   std::string_view text) {
  std::string module = fmt::format(
      "HloModule attributes\n"
      "f {{\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = s32[] add(a, b)\n}}\n"
      "ENTRY e {{\n  p = s32[] parameter(0)\n  ROOT c = s32[] {}(p){}{}{}\n}}\n",
      to_string(operation.opcode), operation.reduces ? ", to_apply=f" : "",
      text.empty() ? "" : ", ", text);
  auto source = Source::from_string("backend_config", std::move(module));
  Diagnostics diagnostics(source);
  std::shared_ptr<Module> read = parse_text(source, diagnostics);
  if (!read || read->computations().size() != 2 || read->entry()->size() != 2 ||
      read->entry()->root()->opcode() != operation.opcode) {
    return tl::unexpected(fmt::format("backend_config is not the attributes of {}{}{}",
                                      to_string(operation.opcode), diagnostics.ok() ? "" : ": ",
                                      diagnostics.ok() ? "" : diagnostics.all()[0].message));
  }
  return read;
}

class Unwrapping {
 public:
  explicit Unwrapping(Module& module) : module_(module) {}

  // All calls are read before the first is rewritten, so that an error changes nothing.
  tl::expected<size_t, std::string> run() {
    const std::vector<Computation*> computations(module_.computations().begin(),
                                                 module_.computations().end());
    for (const Computation* computation : computations) {
      for (const Instruction* instruction : computation->instructions()) {
        if (!is_wrapped(*instruction)) continue;
        std::string wrong = read(*instruction);
        if (!wrong.empty()) {
          return tl::unexpected(fmt::format("%{}: {}", instruction->name(), wrong));
        }
      }
    }
    size_t next = 0;
    for (Computation* computation : computations) {
      if (next == calls_.size() || calls_[next].call->parent() != computation) continue;
      Rewriter rewriter(computation);
      while (Instruction* at = rewriter.next()) {
        if (next < calls_.size() && calls_[next].call == at) unwrap(rewriter, *at, calls_[next++]);
      }
      rewriter.finish();
    }
    std::vector<Computation*> order = made_;
    order.insert(order.end(), computations.begin(), computations.end());
    module_.order_computations(order);
    return calls_.size();
  }

 private:
  struct Call {
    const Instruction* call;
    const Operation* operation;
    std::vector<Attribute> attributes;
    Computation* reducer;  // null: to be made, or none
  };

  // What is wrong, or nothing.
  std::string read(const Instruction& call) {
    std::string_view target = call.get(attr::custom_call_target);
    const Operation& operation = *operation_of(target);
    const JsonText* config = call.get(attr::backend_config);
    auto read = read_attributes(operation, config ? config->text : "");
    if (!read) return read.error();
    module_.keep(*read);
    Call& kept = calls_.emplace_back(Call{&call, &operation, {}, nullptr});
    for (const Attribute& attribute : (*read)->entry()->root()->attributes()) {
      if (attribute.id != AttributeId::to_apply) kept.attributes.push_back(attribute);
    }
    if (!operation.reduces) return "";
    const std::vector<Computation*> called = call.called_computations();
    if (called.size() == 1) kept.reducer = called[0];
    const bool can_make =
        called.empty() && reducer_of(target, operation) && first_array(call.shape())->is_array();
    return kept.reducer || can_make ? "" : "it has no reducer";
  }

  void unwrap(Rewriter& rewriter, Instruction& call, Call& read) {
    std::vector<Attribute>& attributes = read.attributes;
    if (read.operation->reduces) {
      if (!read.reducer) {
        read.reducer =
            make_reducer(*reducer_of(call.get(attr::custom_call_target), *read.operation), call);
      }
      attributes.push_back(make_attribute(attr::to_apply, read.reducer));
    }
    for (const AttributeUse& use : common_attributes()) {
      const Attribute* kept = find_attribute(call.attributes(), use.id);
      if (kept && use.id != AttributeId::backend_config) attributes.push_back(*kept);
    }
    Instruction* by = rewriter.emit(read.operation->opcode, call.name(), call.shape(),
                                    call.operands(), attributes);
    rewriter.replace(&call, by);
    by->set_name(call.name());
  }

  // Of scalars of the result's type.
  Computation* make_reducer(const Reducer& row, const Instruction& call) {
    const Shape* scalar = module_.shapes().scalar(first_array(call.shape())->element_type());
    auto name = [&](std::string_view base) { return module_.unique_instruction_name(base); };
    Computation* reducer =
        module_.add_computation(module_.keep_name(fmt::format("reducer.{}", call.name())));
    std::array<Instruction*, 2> parameters{};
    for (int64_t i = 0; i < 2; ++i) {
      const Attribute number = make_attribute(attr::parameter_number, i);
      parameters[static_cast<size_t>(i)] =
          reducer->append(Opcode::kParameter, name("reduced"), scalar, {}, std::span(&number, 1));
    }
    reducer->set_root(reducer->append(row.opcode, name("reducing"), scalar, parameters));
    made_.push_back(reducer);
    return reducer;
  }

  Module& module_;
  std::vector<Call> calls_;
  std::vector<Computation*> made_;
};

}  // namespace

std::optional<WrappedCollective> wrapped_collective(const Instruction& instruction) {
  for (const Operation& operation : kOperations) {
    if (operation.opcode != instruction.opcode()) continue;
    WrappedCollective wrapped{std::string(operation.name), ""};
    const Computation* called = instruction.get(attr::to_apply);
    if (operation.reduces) {
      std::string_view reducer = kOtherReducer;
      for (const Reducer& row : kReducers) {
        if (called && called->root()->opcode() == row.opcode) reducer = row.name;
      }
      wrapped.target += reducer;
    }
    const Shape* array = first_array(instruction.shape());
    if (!array->is_array()) return std::nullopt;
    wrapped.target += fmt::format("_{}", to_string(array->element_type()));
    auto add = [&](AttributeId id) {
      const Attribute* attribute = find_attribute(instruction.attributes(), id);
      if (!attribute || info(id).kind == AttributeKind::kComputation) return;
      if (!wrapped.backend_config.empty()) wrapped.backend_config += ", ";
      wrapped.backend_config += print_text(*attribute);
    };
    for (const AttributeUse& use : info(instruction.opcode()).attributes) add(use.id);
    add(AttributeId::backend_config);
    return wrapped;
  }
  return std::nullopt;
}

tl::expected<size_t, std::string> unwrap_collectives(Module& module) {
  return Unwrapping(module).run();
}

tl::expected<std::unique_ptr<Module>, std::string> unwrapped_collectives(const Module& module) {
  bool has_any = false;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      has_any |= is_wrapped(*instruction);
    }
  }
  if (!has_any) return std::unique_ptr<Module>();
  std::unique_ptr<Module> copy = module.clone();
  auto done = unwrap_collectives(*copy);
  if (!done) return tl::unexpected(std::move(done.error()));
  Diagnostics diagnostics;
  verify(*copy, {}, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    if (diagnostic.severity == Severity::kError) return tl::unexpected(diagnostic.message);
  }
  return copy;
}

}  // namespace minihlo
