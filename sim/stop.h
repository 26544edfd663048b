// Why a walk over a module ended before its end.
#pragma once

#include <string>
#include <utility>

namespace minihlo {

struct Stop {
  enum class Kind {
    kInvalid,      // the module means nothing here (ids beyond the mesh, a missing argument, ...)
    kUnsupported,  // something that is not understood; `what` names it
    kDeadlock,     // devices wait for others that never come
    kMismatch,     // devices meet at collectives that do not fit together
    kMemory,       // more than --max-memory
    kSteps,        // more than --max-steps
    kTime,         // more than --timeout
    kNan,          // an instruction makes a NaN (--check-nan)
  };

  Kind kind = Kind::kInvalid;
  std::string message;  // for a person; several lines where it is a report
  std::string what;     // kUnsupported: the opcode or feature

  /// Whether it is devices that do not come together.
  bool is_of_devices() const { return kind == Kind::kDeadlock || kind == Kind::kMismatch; }

  /// Whether it is a limit of time or steps that the user may raise.
  bool is_limit() const { return kind == Kind::kSteps || kind == Kind::kTime; }

  static Stop unsupported(std::string what, std::string message) {
    return {Kind::kUnsupported, std::move(message), std::move(what)};
  }
  static Stop invalid(std::string message) { return {Kind::kInvalid, std::move(message), {}}; }
};

}  // namespace minihlo
