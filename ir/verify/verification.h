// One run of the verifier: what its rules read, and where they report. Each file of this folder is
// one group of rules; ir/verifier.cc runs them in order.
#pragma once

#include <algorithm>
#include <bitset>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "ir/diagnostics.h"
#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "ir/verifier.h"

namespace minihlo::verifier {

/// An instruction that calls computations. Which ones, Verification::called() tells.
struct Call {
  const Instruction* caller;
  size_t first, count;
};

class Verification {
 public:
  Verification(const Module& module, const VerifyOptions& options, Diagnostics& diagnostics);

  const Module& module() const { return module_; }
  Diagnostics& diagnostics() const { return diagnostics_; }
  /// The mesh by options and header; nothing where they give none (which has been reported).
  const std::optional<Mesh>& mesh() const { return mesh_; }

  /// Whether any instruction is of this family, or has this attribute. Rules about what a module
  /// lacks need not look at its instructions.
  bool uses(Family family) const { return families_[static_cast<size_t>(family)]; }
  bool uses(AttributeId id) const { return attributes_[static_cast<size_t>(id)]; }
  /// Instructions and the computations that they call, in the module's order; those of one
  /// computation.
  std::span<const Call> calls() const { return calls_; }
  std::span<const Call> calls_in(const Computation* computation) const {
    const size_t first = first_calls_[computation->number()];
    return calls().subspan(first, first_calls_[computation->number() + 1] - first);
  }
  /// The computations that are called, in the order of Instruction::called_computations().
  std::span<Computation* const> called(const Call& call) const {
    return std::span(called_).subspan(call.first, call.count);
  }

  /// Whether the instruction has the operands and attributes that its opcode asks for, so that its
  /// shape and ids may be looked at. What is not is marked by the rules of structure.cc.
  bool is_sound(const Instruction* instruction) const {
    if (all_sound_) return true;
    const std::vector<bool>& unsound = unsound_[instruction->parent()->number()];
    return unsound.empty() || !unsound[instruction->number()];
  }
  void mark_unsound(const Instruction* instruction);

  template <class... Args>
  Diagnostic& error(std::string rule, const Instruction* instruction,
                    fmt::format_string<Args...> text, Args&&... args) {
    return located(diagnostics_.error(std::move(rule), instruction->location(),
                                      fmt::format(text, std::forward<Args>(args)...)),
                   instruction);
  }
  template <class... Args>
  Diagnostic& warning(std::string rule, const Instruction* instruction,
                      fmt::format_string<Args...> text, Args&&... args) {
    return located(diagnostics_.warning(std::move(rule), instruction->location(),
                                        fmt::format(text, std::forward<Args>(args)...)),
                   instruction);
  }
  /// An error where the options are strict, else a warning.
  template <class... Args>
  Diagnostic& backend_error(std::string rule, const Instruction* instruction,
                            fmt::format_string<Args...> text, Args&&... args) {
    return strict_ ? error(std::move(rule), instruction, text, std::forward<Args>(args)...)
                   : warning(std::move(rule), instruction, text, std::forward<Args>(args)...);
  }
  /// About a computation.
  template <class... Args>
  void error(std::string rule, const Computation* computation, fmt::format_string<Args...> text,
             Args&&... args) {
    diagnostics_.error(std::move(rule), computation->location(),
                       fmt::format(text, std::forward<Args>(args)...));
  }
  /// About an attribute of the module's header, or about the module where that is empty.
  template <class... Args>
  void header_error(std::string rule, std::string_view attribute, fmt::format_string<Args...> text,
                    Args&&... args) {
    diagnostics_.error(std::move(rule), header_location(attribute),
                       fmt::format(text, std::forward<Args>(args)...));
  }
  template <class... Args>
  void header_warning(std::string rule, std::string_view attribute,
                      fmt::format_string<Args...> text, Args&&... args) {
    diagnostics_.warning(std::move(rule), header_location(attribute),
                         fmt::format(text, std::forward<Args>(args)...));
  }

 private:
  // Where the header of a text names the attribute.
  Location header_location(std::string_view attribute);
  static Diagnostic& located(Diagnostic& diagnostic, const Instruction* instruction) {
    diagnostic.instruction = instruction->name();
    return diagnostic;
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  const bool strict_;
  std::optional<Mesh> mesh_;
  std::bitset<static_cast<size_t>(Family::kRandom) + 1> families_;
  std::bitset<kAttributeCount> attributes_;
  std::vector<Call> calls_;
  std::vector<Computation*> called_;
  std::vector<size_t> first_calls_;  // by computation, and the number of all
  bool all_sound_ = true;
  std::map<std::string_view, Location> header_locations_;  // of attributes asked for so far
  std::vector<std::vector<bool>> unsound_;  // by computation and instruction; empty: all sound
};

/// Whether frontend_attributes has this name.
inline bool has_frontend_attribute(const Instruction* instruction, std::string_view name) {
  std::span<const NamedString> attributes = instruction->get(attr::frontend_attributes);
  return std::ranges::any_of(attributes, [&](const NamedString& a) { return a.name == name; });
}

/// Names, entry, roots, parameters, operands, arity and attributes by the opcode's row; no
/// computation calls itself.
void check_structure(Verification& v);
/// Inferred against written shapes; float types that must not mix; layouts.
void check_shapes(Verification& v);
/// Groups, pairs and channels of collectives against the mesh, and what shapes owe to group sizes.
void check_collectives(Verification& v);
/// Starts and dones, sends and receives, host transfers on one channel.
void check_async(Verification& v);
/// Shardings against shapes and the number of devices, and within loops and conditionals.
void check_shardings(Verification& v);
/// Where buffers may stand, and that each has one writer.
void check_buffers(Verification& v);
/// origin={...} against shapes.
void check_origins(Verification& v);
/// What computations called by fusions and asynchronous work may hold, and on which thread they
/// run; composite calls; layouts that custom calls ask for.
void check_called_computations(Verification& v);
/// entry_computation_layout, input_output_alias, buffer_donor, aliases of single instructions.
void check_aliasing(Verification& v);

}  // namespace minihlo::verifier
