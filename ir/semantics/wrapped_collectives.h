// Collectives that stand in a module as custom-calls, as they reach the Neuron compiler.
//
//   %ar = f32[8] all-reduce(%x), channel_id=1, replica_groups={{0,1}}, to_apply=%add
//   %ar = f32[8] custom-call(%x), custom_call_target="AwsNeuronAllReduceAdd_f32",
//         called_computations={%add}, backend_config="channel_id=1, replica_groups={{0,1}}"
//
// The target names the operation, the reducer's opcode and the element type of the (first) result;
// backend_config has the other attributes as text has them. Only the target's form is public; that
// of the rest is ours.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "ir/module.h"

namespace minihlo {

/// What makes an all-gather, all-reduce or reduce-scatter a custom-call.
struct WrappedCollective {
  std::string target;
  std::string backend_config;
};
/// Nothing for other instructions. Its reducer is to be the custom-call's called computation.
std::optional<WrappedCollective> wrapped_collective(const Instruction& instruction);

/// Makes such custom-calls of the module collectives again, and says how many. Errors, which leave
/// the module as it was: attributes that can't be read, a reducer that is neither named nor in the
/// target.
tl::expected<size_t, std::string> unwrap_collectives(Module& module);

/// A copy of the module in which such custom-calls are the collectives again: the same names,
/// numbers, operands and shapes. Null where there are none. A reducer that the custom-call does not
/// name is made of the target's. Errors: those of unwrap_collectives(), what the
/// verifier says.
tl::expected<std::unique_ptr<Module>, std::string> unwrapped_collectives(const Module& module);

}  // namespace minihlo
