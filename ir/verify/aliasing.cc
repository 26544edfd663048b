#include <set>

#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

// {1,0}
std::string text(std::span<const int64_t> index) {
  return fmt::format("{{{}}}", fmt::join(index, ","));
}

// The part of a shape that an index names; null where there is none.
const Shape* part(const Shape* shape, std::span<const int64_t> index) {
  for (int64_t i : index) {
    if (!shape->is_tuple() || i < 0 || i >= static_cast<int64_t>(shape->elements().size())) {
      return nullptr;
    }
    shape = shape->element(i);
  }
  return shape;
}

using Place = std::pair<int64_t, std::vector<int64_t>>;

Place place(int64_t parameter, std::span<const int64_t> index) {
  return {parameter, std::vector<int64_t>(index.begin(), index.end())};
}

constexpr std::string_view kAlias = "input_output_alias";
constexpr std::string_view kDonor = "buffer_donor";

class EntryAliases {
 public:
  EntryAliases(Verification& v, const Computation* entry) : v_(v), entry_(entry) {}

  void check() {
    for (const Alias& alias : v_.module().get(attr::input_output_alias)) check_alias(alias);
    for (const Donor& donor : v_.module().get(attr::buffer_donor)) {
      if (!parameter_part(kDonor, donor.parameter, donor.index)) continue;
      const Place at = place(donor.parameter, donor.index);
      if (aliased_.contains(at)) {
        v_.header_error("buffer-donor", kDonor,
                        "buffer_donor gives {} of parameter {}, which has an alias",
                        text(donor.index), donor.parameter);
      } else if (!donated_.insert(at).second) {
        v_.header_warning("buffer-donor", kDonor, "buffer_donor gives {} of parameter {} twice",
                          text(donor.index), donor.parameter);
      }
    }
  }

 private:
  const Shape* parameter_part(std::string_view attribute, int64_t parameter,
                              std::span<const int64_t> index) {
    std::span<Instruction* const> parameters = entry_->parameters();
    const std::string rule = attribute == kDonor ? "buffer-donor" : "input-output-alias";
    if (parameter < 0 || parameter >= static_cast<int64_t>(parameters.size()) ||
        !parameters[static_cast<size_t>(parameter)]) {
      v_.header_error(rule, attribute, "{} names parameter {}, but the entry has {}", attribute,
                      parameter, parameters.size());
      return nullptr;
    }
    const Shape* shape = parameters[static_cast<size_t>(parameter)]->shape();
    const Shape* named = part(shape, index);
    if (!named) {
      v_.header_error(rule, attribute, "{} names {} of parameter {}, which is {}", attribute,
                      text(index), parameter, to_string(shape, false));
    } else if (!named->is_array()) {
      v_.header_error(rule, attribute, "{} names {} of parameter {}, which is no array but {}",
                      attribute, text(index), parameter, to_string(named, false));
      return nullptr;
    }
    return named;
  }

  void check_alias(const Alias& alias) {
    const Shape* input = parameter_part(kAlias, alias.parameter, alias.parameter_index);
    const Shape* result = entry_->root()->shape();
    const Shape* output = part(result, alias.output_index);
    if (!output) {
      v_.header_error("input-output-alias", kAlias,
                      "input_output_alias names {} of the result, which is {}",
                      text(alias.output_index), to_string(result, false));
    }
    if (!input || !output) return;
    if (alias.kind == "must-alias" && !compatible_but_for_dynamic(input, output)) {
      v_.header_error("input-output-alias", kAlias,
                      "{} of the result must alias {} of parameter {}, but one is {}, the other {}",
                      text(alias.output_index), text(alias.parameter_index), alias.parameter,
                      to_string(output, false), to_string(input, false));
    }
    if (!aliased_.insert(place(alias.parameter, alias.parameter_index)).second) {
      v_.header_error("input-output-alias", kAlias, "{} of parameter {} has two aliases",
                      text(alias.parameter_index), alias.parameter);
    }
    if (!outputs_.insert(place(0, alias.output_index)).second) {
      v_.header_warning("input-output-alias", kAlias, "{} of the result has two aliases",
                        text(alias.output_index));
    }
  }

  Verification& v_;
  const Computation* entry_;
  std::set<Place> aliased_, outputs_, donated_;
};

void check_entry_layout(Verification& v, const Computation* entry) {
  const ProgramShape* layout = v.module().get(attr::entry_computation_layout);
  if (!layout) return;
  std::span<Instruction* const> parameters = entry->parameters();
  if (layout->parameters.size() != parameters.size()) {
    v.header_error("entry-layout", "entry_computation_layout",
                   "entry_computation_layout has {} parameters, but the entry %{} has {}",
                   layout->parameters.size(), entry->name(), parameters.size());
    return;
  }
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i] || !parameters[i]->shape() ||
        compatible_but_for_dynamic(layout->parameters[i], parameters[i]->shape())) {
      continue;
    }
    v.error("entry-layout", parameters[i],
            "entry_computation_layout gives parameter {} as {}, but %{} is {}", i,
            to_string(layout->parameters[i], false), parameters[i]->name(),
            to_string(parameters[i]->shape(), false));
  }
  if (!compatible_but_for_dynamic(layout->result, entry->root()->shape())) {
    v.error("entry-layout", entry->root(),
            "entry_computation_layout gives the result as {}, but %{} is {}",
            to_string(layout->result, false), entry->root()->name(),
            to_string(entry->root()->shape(), false));
  }
}

bool is_call_of(const Instruction* instruction, std::string_view target) {
  return instruction->opcode() == Opcode::kCustomCall &&
         instruction->get(attr::custom_call_target) == target;
}

// Whether operand and result have the shapes of the same memory. Pin and Unpin, and asynchronous
// work around them, turn arrays into buffers and back.
bool may_alias(const Instruction* instruction, const Shape* input, const Shape* output) {
  if (instruction->opcode() == Opcode::kAsyncStart || is_call_of(instruction, "Pin") ||
      is_call_of(instruction, "Unpin")) {
    auto array = [](const Shape* shape) {
      return shape->kind() == Shape::Kind::kBuffer ? shape->element(0) : shape;
    };
    input = array(input);
    output = array(output);
  }
  return compatible_but_for_dynamic(input, output);
}

// Whether an index names the context of asynchronous work, which all but a pair of operands and
// result is.
bool is_context(std::span<const int64_t> index) { return !index.empty() && index[0] == 2; }

// output_to_operand_aliasing={{}: (0, {})}
void check_operand_aliases(Verification& v, const Instruction* instruction) {
  std::span<const Alias> aliases = instruction->get(attr::output_to_operand_aliasing);
  const bool any_shapes =
      !aliases.empty() && instruction->opcode() == Opcode::kCustomCall &&
      has_frontend_attribute(instruction, "xla_skip_custom_call_alias_shape_check");
  for (const Alias& alias : aliases) {
    if (instruction->opcode() == Opcode::kAsyncUpdate &&
        (alias.parameter != 0 || !is_context(alias.parameter_index) ||
         !is_context(alias.output_index))) {
      v.error("operand-alias", instruction,
              "async-update aliases {{2}} of what it continues with its own {{2}} alone, not {} of "
              "operand {} with {}",
              text(alias.parameter_index), alias.parameter, text(alias.output_index));
      continue;
    }
    const Shape* output = part(instruction->shape(), alias.output_index);
    if (!output) {
      v.error("operand-alias", instruction,
              "output_to_operand_aliasing names {} of the result, which is {}",
              text(alias.output_index), to_string(instruction->shape(), false));
    }
    // An update may give what the start is not given yet.
    const Computation* called = instruction->get(attr::calls);
    if (instruction->opcode() == Opcode::kAsyncStart && called &&
        alias.parameter >= static_cast<int64_t>(instruction->operand_count()) &&
        alias.parameter < static_cast<int64_t>(called->parameters().size())) {
      continue;
    }
    if (alias.parameter < 0 ||
        alias.parameter >= static_cast<int64_t>(instruction->operand_count())) {
      v.error("operand-alias", instruction,
              "output_to_operand_aliasing names operand {}, but there are {}", alias.parameter,
              instruction->operand_count());
      continue;
    }
    const Instruction* operand = instruction->operand(static_cast<size_t>(alias.parameter));
    const Shape* input = part(operand->shape(), alias.parameter_index);
    if (input && output && !any_shapes && !may_alias(instruction, input, output)) {
      v.error(
          "operand-alias", instruction,
          "{} of the result and {} of operand {}, %{}, are aliased, but one is {}, the other {}",
          text(alias.output_index), text(alias.parameter_index), alias.parameter, operand->name(),
          to_string(output, false), to_string(input, false));
    }
    if (!input) {
      v.error("operand-alias", instruction,
              "output_to_operand_aliasing names {} of operand {}, %{}, which is {}",
              text(alias.parameter_index), alias.parameter, operand->name(),
              to_string(operand->shape(), false));
    }
  }
}

}  // namespace

void check_aliasing(Verification& v) {
  const Computation* entry = v.module().entry();
  if (entry && entry->root() && entry->root()->shape()) {
    check_entry_layout(v, entry);
    EntryAliases(v, entry).check();
  }
  if (!v.uses(AttributeId::output_to_operand_aliasing) &&
      !v.uses(AttributeId::parameter_replication)) {
    return;
  }
  for (const Computation* computation : v.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!v.is_sound(instruction)) continue;
      check_operand_aliases(v, instruction);
      auto replicated = instruction->find(attr::parameter_replication);
      if (replicated &&
          static_cast<int64_t>(replicated->size()) != instruction->shape()->leaf_count()) {
        v.error("parameter-replication", instruction,
                "parameter_replication has {} values, but %{} has {} leaves", replicated->size(),
                instruction->name(), instruction->shape()->leaf_count());
      }
    }
  }
}

}  // namespace minihlo::verifier
