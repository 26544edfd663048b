#include "ir/verifier.h"

#include "ir/verify/verification.h"

namespace minihlo {
namespace verifier {

Verification::Verification(const Module& module, const VerifyOptions& options,
                           Diagnostics& diagnostics)
    : module_(module),
      diagnostics_(diagnostics),
      strict_(options.strict),
      unsound_(module.computations().size()) {
  // XLA takes a header of no replicas. What it holds is checked as where nothing is said.
  auto count = [&](int64_t given, int64_t written, std::string_view attribute) {
    if (given != 0 || written != 0) return given != 0 ? given : written;
    header_warning("mesh", attribute, "{}=0 leaves no devices; the module is checked for 1",
                   attribute);
    return int64_t{1};
  };
  auto mesh = make_mesh(count(options.replicas, module.replica_count(), "replica_count"),
                        count(options.partitions, module.num_partitions(), "num_partitions"));
  if (mesh) {
    mesh_ = *mesh;
  } else {
    header_error("mesh", module.replica_count() < 1 ? "replica_count" : "num_partitions", "{}",
                 mesh.error());
  }
  first_calls_.reserve(module.computations().size() + 1);
  for (const Computation* computation : module.computations()) {
    first_calls_.push_back(calls_.size());
    for (const Instruction* instruction : computation->instructions()) {
      families_.set(static_cast<size_t>(info(instruction->opcode()).family));
      for (const Attribute& attribute : instruction->attributes()) {
        attributes_.set(static_cast<size_t>(attribute.id));
      }
      if (!instruction->calls_computations()) continue;
      const std::vector<Computation*> called = instruction->called_computations();
      calls_.push_back({instruction, called_.size(), called.size()});
      called_.insert(called_.end(), called.begin(), called.end());
    }
  }
  first_calls_.push_back(calls_.size());
}

Location Verification::header_location(std::string_view attribute) {
  const Source* source = diagnostics_.source();
  if (!source || source->is_binary() || attribute.empty()) return {};
  // Looked for once: where it is not, that takes the whole text.
  auto [known, added] = header_locations_.try_emplace(attribute);
  if (!added) return known->second;
  const size_t at = source->text().find(fmt::format("{}=", attribute));
  if (at != std::string_view::npos) {
    known->second = {static_cast<uint32_t>(at), static_cast<uint32_t>(attribute.size())};
  }
  return known->second;
}

void Verification::mark_unsound(const Instruction* instruction) {
  all_sound_ = false;
  std::vector<bool>& unsound = unsound_[instruction->parent()->number()];
  unsound.resize(instruction->parent()->size(), false);
  unsound[instruction->number()] = true;
}

}  // namespace verifier

void verify(const Module& module, const VerifyOptions& options, Diagnostics& diagnostics) {
  verifier::Verification verification(module, options, diagnostics);
  for (auto check :
       {verifier::check_structure, verifier::check_shapes, verifier::check_collectives,
        verifier::check_async, verifier::check_called_computations, verifier::check_aliasing,
        verifier::check_shardings, verifier::check_buffers, verifier::check_origins}) {
    if (!diagnostics.full()) check(verification);
  }
}

}  // namespace minihlo
