#include <algorithm>

#include <fmt/format.h>

#include "ir/proto/module_reading.h"
#include "ir/text/unique_names.h"

namespace minihlo::proto {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

bool may_continue(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '-'; }

bool is_name(std::string_view name) {
  return is_letter(name[0]) && std::all_of(name.begin(), name.end(), may_continue) &&
         minihlo::internal::is_allowed_name(name);
}

// The name that XLA makes of one that is none in text.
std::string sanitized(std::string_view name) {
  std::string made(name);
  for (char& c : made) {
    if (!may_continue(c)) c = '_';
  }
  if (!made.empty() && !is_letter(made[0])) made[0] = '_';
  return minihlo::internal::allowed_name(made);
}

}  // namespace

bool ModuleReader::keep_name(const Message& in, Field field, std::string_view& name) {
  name = in.text(field);
  if (name.empty()) return in.fail("missing-field", field, "a name is missing");
  if (is_name(name)) return true;
  const std::string made = sanitized(name);
  in.warn("changed-name", fmt::format("'{}' can't be a name in text; it is read as '{}'",
                                      name.substr(0, 100), made.substr(0, 100)));
  names_changed_ = true;
  name = reading_.arena.copy_string(made);
  return true;
}

bool ModuleReader::read_computation(const Message& in) {
  std::string_view name;
  if (!keep_name(in, HloComputationProto::name, name)) return false;
  if (!computation_names_.insert(name).second && !names_changed_) {
    return in.fail("duplicate-name", HloComputationProto::name,
                   fmt::format("a computation named '{}' is there already", name));
  }
  // All of these follow from the instructions.
  in.use(HloComputationProto::program_shape);
  in.use(HloComputationProto::is_fusion_computation);
  Computation* computation = reading_.module.add_computation(name, in.location());
  Scope scope{computation, {}, {}, in.count(HloComputationProto::instructions)};
  scope.instructions.reserve(scope.size);
  size_t failed = 0;
  in.each(HloComputationProto::instructions, [&](const Message& instruction) {
    instruction.set_label(instruction.text(HloInstructionProto::name));
    if (!read_instruction(instruction, scope)) ++failed;
    return !input_.diagnostics().full();
  });
  // What follows from an error is not worth another.
  if (failed > 0 || !input_.diagnostics().ok()) return false;
  if (computation->size() == 0) {
    return in.fail("empty-computation", "a computation needs an instruction");
  }
  const int64_t root = in.integer(HloComputationProto::root_id);
  auto found =
      root < 0 ? scope.instructions.end() : scope.instructions.find(static_cast<uint32_t>(root));
  if (found == scope.instructions.end()) {
    return in.fail("unknown-id", HloComputationProto::root_id,
                   fmt::format("the computation has no instruction {}", root));
  }
  computation->set_root(found->second);
  if (std::string_view thread = in.text(HloComputationProto::execution_thread); !thread.empty()) {
    computation->set_execution_thread(thread);
  }
  const int64_t id = in.integer(HloComputationProto::id);
  if (!computations_.emplace(id, computation).second) {
    return in.fail("duplicate-id", HloComputationProto::id,
                   fmt::format("the module has a computation {} already", id));
  }
  scopes_.push_back(std::move(scope));
  return true;
}

// Names are unique in XLA's files. Where one had to be changed they may clash.
void ModuleReader::settle_names() {
  if (names_changed_) minihlo::internal::make_names_unique(reading_.module);
}

}  // namespace minihlo::proto
