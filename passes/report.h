// What a pass reports of the instructions that it is for.
#pragma once

#include <string>
#include <string_view>

#include "passes/pass.h"

namespace minihlo {

class Reporter {
 public:
  /// `pass` has to live as long.
  Reporter(PassContext& context, std::string_view pass) : context_(context), pass_(pass) {}

  void rewritten(const Instruction& old, const Instruction& by) { report(old, by.name(), ""); }
  void left_alone(const Instruction& instruction, std::string reason) {
    report(instruction, "", std::move(reason));
  }
  /// Rewritten to what has the name `result`, or left alone where there is a reason.
  void report(const Instruction& instruction, std::string_view result, std::string reason) {
    const bool rewritten = reason.empty();
    context_.report({pass_, std::string(instruction.parent()->name()),
                     std::string(instruction.name()), instruction.opcode(), rewritten,
                     std::string(rewritten ? result : ""), std::move(reason)});
  }

 private:
  PassContext& context_;
  std::string_view pass_;
};

}  // namespace minihlo
