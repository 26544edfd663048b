// What came of one case.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tools/command.h"

namespace minihlo::campaign {

enum class OutcomeKind : uint8_t {
  kProved,
  kTested,
  kUnsupported,
  kTimedOut,  // an external command took longer than it may
  kInvalid,   // what is there, or what comes back, is no valid module; or both fail alike
  kChanged,       // the pipeline does not give back the module, and should
  kCrashed,   // an external command failed
  kRefuted,
  kContradicted,  // no difference was found by the prover, and one by a run
};

struct OutcomeInfo {
  OutcomeKind kind;
  std::string_view word;
  ExitCode exit_code;
  std::string_view summary;  // for help
};
/// By kind.
std::span<const OutcomeInfo> outcomes();
const OutcomeInfo& info(OutcomeKind kind);
inline constexpr size_t kOutcomeCount = static_cast<size_t>(OutcomeKind::kContradicted) + 1;
/// The kind of that word, or nothing.
std::optional<OutcomeKind> outcome_from(std::string_view word);

struct Outcome {
  OutcomeKind kind = OutcomeKind::kProved;
  std::string reason;      // one line; empty where it is proved
  bool rewritten = false;  // whether anything was, as far as that is known
  bool simulated = false;

  /// The reason, or what the kind means.
  std::string reason_or_summary() const {
    return reason.empty() ? std::string(info(kind).summary) : reason;
  }
};

}  // namespace minihlo::campaign
