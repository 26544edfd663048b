#include "ir/semantics/custom_calls.h"

#include <algorithm>
#include <string>

namespace minihlo {
namespace {

using enum CustomCallMeaning;

constexpr CustomCallTarget kTargets[] = {
#define CUSTOM_CALL(target, meaning, about) {target, meaning, about},
#include "ir/semantics/custom_calls.def"
#undef CUSTOM_CALL
};

constexpr std::string_view kLapack = "lapack_";
constexpr std::string_view kNeuron = "AwsNeuron";

// The target of the row: without what says the element type and the form of the call.
std::string row_target(std::string_view target) {
  if (target.starts_with(kLapack) && target.size() > kLapack.size() + 1) {
    constexpr std::string_view kForm = "_ffi";
    if (std::string_view("sdcz").find(target[kLapack.size()]) == target.npos) return "";
    std::string_view routine = target.substr(kLapack.size() + 1);
    if (routine.ends_with(kForm)) routine.remove_suffix(kForm.size());
    return std::string(kLapack) + std::string(routine);
  }
  if (target.starts_with(kNeuron)) {
    const size_t bar = target.rfind('_');
    if (bar != target.npos &&
        (element_type_from(target.substr(bar + 1)) || target.substr(bar + 1) == "UNKNOWNDTYPE")) {
      target = target.substr(0, bar);
    }
  }
  return std::string(target);
}

}  // namespace

std::span<const CustomCallTarget> custom_call_targets() { return kTargets; }

const CustomCallTarget* find_custom_call(std::string_view target) {
  auto found = std::ranges::find(kTargets, row_target(target), &CustomCallTarget::target);
  return found == std::end(kTargets) ? nullptr : &*found;
}

bool is_identity_call(const Instruction& instruction) {
  if (instruction.opcode() != Opcode::kCustomCall) return false;
  const CustomCallTarget* row = find_custom_call(instruction.get(attr::custom_call_target));
  if (!row || row->meaning != kIdentity) return false;
  const Shape* shape = instruction.shape();
  if (instruction.operand_count() == 1 && compatible(shape, instruction.operand(0)->shape())) {
    return true;
  }
  if (!shape->is_tuple()) return false;
  if (shape->elements().empty()) return true;
  if (shape->elements().size() != instruction.operand_count()) return false;
  for (size_t i = 0; i < instruction.operand_count(); ++i) {
    if (!compatible(shape->elements()[i], instruction.operand(i)->shape())) return false;
  }
  return true;
}

}  // namespace minihlo
