// A subcommand of the tool.
//
// One file each: a class derived from Command in an unnamed namespace, and a function that makes
// it, declared below and listed in main.cc.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "tools/arguments.h"

namespace minihlo {

/// The exit codes of all commands.
enum class ExitCode : uint8_t {
  kOk = 0,           // done; proved
  kDiffers = 1,      // refuted, an expectation not met, a deadlock or mismatch of devices
  kInvalid = 2,      // bad input or usage
  kUndecided = 3,    // neither proved nor refuted
  kUnsupported = 4,  // names what was not understood
};

/// The worse of two, of commands that come to several: done is best, then undecided, not supported,
/// invalid, and different.
inline ExitCode worse(ExitCode a, ExitCode b) {
  constexpr ExitCode kOrder[] = {ExitCode::kOk, ExitCode::kUndecided, ExitCode::kUnsupported,
                                 ExitCode::kInvalid, ExitCode::kDiffers};
  return std::ranges::find(kOrder, a) < std::ranges::find(kOrder, b) ? b : a;
}

class Command {
 public:
  virtual ~Command() = default;
  virtual CommandText text() const = 0;
  /// Declares what the command line may hold, bound to members.
  virtual void declare(Arguments& arguments) = 0;
  /// Runs with the members set. Results go to standard output, errors to standard error.
  virtual ExitCode run() = 0;
  /// Whether it starts programs, to which the limits of this process would be passed on.
  virtual bool starts_programs() const { return false; }
};

std::unique_ptr<Command> make_check();
std::unique_ptr<Command> make_print();
std::unique_ptr<Command> make_opt();
std::unique_ptr<Command> make_run();
std::unique_ptr<Command> make_equiv();
std::unique_ptr<Command> make_list();
std::unique_ptr<Command> make_campaign();

}  // namespace minihlo
