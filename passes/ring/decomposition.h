// What passes have in common that put other instructions in the place of collectives, one by one.
#pragma once

#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "passes/emitter.h"
#include "passes/pass.h"

namespace minihlo {

/// Takes collectives apart.
class Decomposition {
 public:
  virtual ~Decomposition() = default;

  /// Whether the pass is for an instruction: a collective, or one of the start forms.
  virtual bool wants(const Instruction& instruction) const = 0;

  /// Emits what takes the place of a collective, or of a start: values for end(). `results` are the
  /// shapes of what the collective gives: arrays with static dimensions. Error: why it is left
  /// alone; nothing may have been emitted then.
  virtual tl::expected<std::vector<Instruction*>, std::string> begin(
      Emitter& emit, const Instruction& collective, std::span<const Shape* const> results) = 0;
  /// Emits the rest, behind begin(), or in the place of the done: one value a result.
  virtual std::vector<Instruction*> end(Emitter& emit, const Instruction& collective,
                                        std::vector<Instruction*> begun);
};

/// The numbers of instructions in a computation from which on all is emitted.
class EmittedSince {
 public:
  explicit EmittedSince(Computation* computation);
  /// Gives the emitted instructions, those in computations that are new too, the metadata of
  /// `original`; those that take operands from outside, its control predecessors.
  void belong_to(const Instruction& original) const;

 private:
  Computation* computation_;
  size_t instructions_;
  size_t computations_;
};

/// Runs a decomposition over all computations but those that asynchronous work runs, and puts the
/// computations in order. A result has the shape and the attributes of the collective, or of its
/// done.
void decompose_collectives(Module& module, PassContext& context, std::string_view pass,
                           Decomposition& decomposition);

}  // namespace minihlo
