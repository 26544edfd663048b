#include "ir/verifier.h"

#include "ir/verify/verification.h"

namespace minihlo {
namespace verifier {

Verification::Verification(const Module& module, const VerifyOptions& options,
                           Diagnostics& diagnostics)
    : module_(module), diagnostics_(diagnostics), unsound_(module.computations().size()) {
  auto mesh = make_mesh(options.replicas ? options.replicas : module.replica_count(),
                        options.partitions ? options.partitions : module.num_partitions());
  if (mesh) {
    mesh_ = *mesh;
  } else {
    error("mesh", "{}", mesh.error());
  }
}

bool Verification::is_sound(const Instruction* instruction) const {
  const std::vector<bool>& unsound = unsound_[instruction->parent()->number()];
  return unsound.empty() || !unsound[instruction->number()];
}

void Verification::mark_unsound(const Instruction* instruction) {
  std::vector<bool>& unsound = unsound_[instruction->parent()->number()];
  unsound.resize(instruction->parent()->size(), false);
  unsound[instruction->number()] = true;
}

}  // namespace verifier

void verify(const Module& module, const VerifyOptions& options, Diagnostics& diagnostics) {
  verifier::Verification verification(module, options, diagnostics);
  verifier::check_structure(verification);
  verifier::check_shapes(verification);
  verifier::check_collectives(verification);
  verifier::check_async(verification);
  verifier::check_called_computations(verification);
  verifier::check_aliasing(verification);
}

}  // namespace minihlo
