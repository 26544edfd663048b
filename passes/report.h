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

  void rewritten(const Instruction& old, const Instruction& by) {
    context_.report({pass_, std::string(old.parent()->name()), std::string(old.name()),
                     old.opcode(), true, std::string(by.name()), ""});
  }
  void left_alone(const Instruction& instruction, std::string reason) {
    context_.report({pass_, std::string(instruction.parent()->name()),
                     std::string(instruction.name()), instruction.opcode(), false, "",
                     std::move(reason)});
  }

 private:
  PassContext& context_;
  std::string_view pass_;
};

}  // namespace minihlo
