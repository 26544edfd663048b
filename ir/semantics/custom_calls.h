// What custom-calls mean, by target. One table (custom_calls.def) for all who ask.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ir/instruction.h"

namespace minihlo {

enum class CustomCallMeaning : uint8_t {
  kIdentity,
  kUndefined,
  kTopK,
  kX64Combine,
  kX64SplitHigh,
  kX64SplitLow,
  kArgMax,
  kArgMin,
  kErf,
  kGelu,
  kGeluTanh,
  kGeluDerivative,
  kRmsNorm,
  kSilu,
  kSiluDerivative,
  kSoftmax,
  kSoftmaxGradient,
  kSoftplus,
  kPotrf,
  kGetrf,
  kGeqrf,
  kGeqp3,
  kOrgqr,
  kOrmqr,
  kTrsm,
  kGehrd,
  kSytrd,
  kGtsv,
  kPerturbedGtsv,
  kSyevd,
  kGesdd,
  kGeev,
  kGees,
  kCsrProduct,
  kCollective,
};

struct CustomCallTarget {
  std::string_view target;
  CustomCallMeaning meaning;
  std::string_view about;  // what the call gives
};

/// All rows, in the order of the table.
std::span<const CustomCallTarget> custom_call_targets();

/// The row of a target as a module writes it, or null where its meaning is not known.
const CustomCallTarget* find_custom_call(std::string_view target);

/// Whether an instruction is a custom-call that hands its operands on as they are: one operand as
/// it is, or a tuple of all, of the same shapes; or of none of them.
bool is_identity_call(const Instruction& instruction);

}  // namespace minihlo
