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
  explicit Unwrapping(const Module& module) : module_(module.clone()) {}

  tl::expected<std::unique_ptr<Module>, std::string> run() {
    const std::vector<Computation*> computations(module_->computations().begin(),
                                                 module_->computations().end());
    for (Computation* computation : computations) {
      Rewriter rewriter(computation);
      while (Instruction* at = rewriter.next()) {
        if (!is_wrapped(*at)) continue;
        std::string wrong = unwrap(rewriter, *at);
        if (!wrong.empty()) return tl::unexpected(fmt::format("%{}: {}", at->name(), wrong));
      }
      rewriter.finish();
    }
    std::vector<Computation*> order = made_;
    order.insert(order.end(), computations.begin(), computations.end());
    module_->order_computations(order);
    Diagnostics diagnostics;
    verify(*module_, {}, diagnostics);
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      if (diagnostic.severity == Severity::kError) return tl::unexpected(diagnostic.message);
    }
    return std::move(module_);
  }

 private:
  // What is wrong, or nothing.
  std::string unwrap(Rewriter& rewriter, Instruction& call) {
    std::string_view target = call.get(attr::custom_call_target);
    const Operation& operation = *operation_of(target);
    const JsonText* config = call.get(attr::backend_config);
    auto read = read_attributes(operation, config ? config->text : "");
    if (!read) return read.error();
    module_->keep(*read);
    std::vector<Attribute> attributes;
    for (const Attribute& attribute : (*read)->entry()->root()->attributes()) {
      if (attribute.id != AttributeId::to_apply) attributes.push_back(attribute);
    }
    if (operation.reduces) {
      const std::vector<Computation*> called = call.called_computations();
      Computation* reducer = called.empty()       ? make_reducer(target, operation, call)
                             : called.size() == 1 ? called[0]
                                                  : nullptr;
      if (!reducer) return "it has no reducer";
      attributes.push_back(make_attribute(attr::to_apply, reducer));
    }
    for (AttributeId id :
         {AttributeId::metadata, AttributeId::frontend_attributes, AttributeId::sharding}) {
      if (const Attribute* kept = find_attribute(call.attributes(), id)) {
        attributes.push_back(*kept);
      }
    }
    Instruction* by =
        rewriter.emit(operation.opcode, call.name(), call.shape(), call.operands(), attributes);
    rewriter.replace(&call, by);
    by->set_name(call.name());
    return "";
  }

  // Of scalars of the result's type, with the opcode that the target names; null: none.
  Computation* make_reducer(std::string_view target, const Operation& operation,
                            const Instruction& call) {
    const Reducer* row = reducer_of(target, operation);
    const Shape* array = first_array(call.shape());
    if (!row || !array->is_array()) return nullptr;
    const Shape* scalar = module_->shapes().scalar(array->element_type());
    auto name = [&](std::string_view base) { return module_->unique_instruction_name(base); };
    Computation* reducer =
        module_->add_computation(module_->keep_name(fmt::format("reducer.{}", call.name())));
    std::array<Instruction*, 2> parameters{};
    for (int64_t i = 0; i < 2; ++i) {
      const Attribute number = make_attribute(attr::parameter_number, i);
      parameters[static_cast<size_t>(i)] =
          reducer->append(Opcode::kParameter, name("reduced"), scalar, {}, std::span(&number, 1));
    }
    reducer->set_root(reducer->append(row->opcode, name("reducing"), scalar, parameters));
    made_.push_back(reducer);
    return reducer;
  }

  std::unique_ptr<Module> module_;
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
    for (const AttributeUse& use : info(instruction.opcode()).attributes) {
      const Attribute* attribute = find_attribute(instruction.attributes(), use.id);
      if (!attribute || info(use.id).kind == AttributeKind::kComputation) continue;
      if (!wrapped.backend_config.empty()) wrapped.backend_config += ", ";
      wrapped.backend_config += print_text(*attribute);
    }
    return wrapped;
  }
  return std::nullopt;
}

tl::expected<std::unique_ptr<Module>, std::string> unwrapped_collectives(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (is_wrapped(*instruction)) return Unwrapping(module).run();
    }
  }
  return std::unique_ptr<Module>();
}

}  // namespace minihlo
