// Errors in what is done, to what, and in which order.
#include <algorithm>

#include <fmt/format.h>

#include "passes/errors/kinds.h"

namespace minihlo::errors {
namespace {

std::optional<Opcode> other_opcode(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAdd:
      return Opcode::kSubtract;
    case Opcode::kSubtract:
      return Opcode::kAdd;
    case Opcode::kMultiply:
      return Opcode::kAdd;
    case Opcode::kDivide:
      return Opcode::kMultiply;
    case Opcode::kMaximum:
      return Opcode::kMinimum;
    case Opcode::kMinimum:
      return Opcode::kMaximum;
    case Opcode::kAnd:
      return Opcode::kOr;
    case Opcode::kOr:
      return Opcode::kXor;
    case Opcode::kXor:
      return Opcode::kOr;
    case Opcode::kFloor:
      return Opcode::kCeil;
    case Opcode::kCeil:
      return Opcode::kFloor;
    case Opcode::kRoundNearestEven:
      return Opcode::kRoundNearestAfz;
    case Opcode::kRoundNearestAfz:
      return Opcode::kRoundNearestEven;
    case Opcode::kSin:
      return Opcode::kCos;
    case Opcode::kCos:
      return Opcode::kSin;
    case Opcode::kExp:
      return Opcode::kExpm1;
    case Opcode::kExpm1:
      return Opcode::kExp;
    case Opcode::kLog:
      return Opcode::kLog1p;
    case Opcode::kLog1p:
      return Opcode::kLog;
    case Opcode::kSqrt:
      return Opcode::kRsqrt;
    case Opcode::kRsqrt:
      return Opcode::kSqrt;
    case Opcode::kNegate:
      return Opcode::kAbs;
    case Opcode::kShiftRightLogical:
      return Opcode::kShiftRightArithmetic;
    case Opcode::kShiftRightArithmetic:
      return Opcode::kShiftRightLogical;
    case Opcode::kReal:
      return Opcode::kImag;
    case Opcode::kImag:
      return Opcode::kReal;
    default:
      return std::nullopt;
  }
}

void wait_no_more(Site& site, const std::vector<Instruction*>& before) {
  if (before.empty()) {
    site.at->erase(AttributeId::control_predecessors);
  } else {
    site.at->set(attr::control_predecessors, site.emit.rewriter().arena().copy(before));
  }
}

// With or without what is equal.
ComparisonDirection off_by_one(ComparisonDirection direction) {
  switch (direction) {
    case ComparisonDirection::kLt:
      return ComparisonDirection::kLe;
    case ComparisonDirection::kLe:
      return ComparisonDirection::kLt;
    case ComparisonDirection::kGt:
      return ComparisonDirection::kGe;
    case ComparisonDirection::kGe:
      return ComparisonDirection::kGt;
    default:
      return direction;
  }
}

}  // namespace

std::string swapped_operands(Site& site) {
  std::vector<std::pair<size_t, size_t>> pairs;
  const size_t count = std::min<size_t>(site.at->operand_count(), 64);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = i + 1; j < count; ++j) {
      const Instruction *a = site.at->operand(i), *b = site.at->operand(j);
      if (a != b && a->shape() == b->shape()) pairs.emplace_back(i, j);
    }
  }
  if (pairs.empty()) return "";
  const auto [i, j] = site.random.pick(pairs);
  Instruction* first = site.at->operand(i);
  site.at->set_operand(i, site.at->operand(j));
  site.at->set_operand(j, first);
  return fmt::format("operands {} and {} change places", i, j);
}

std::string wrong_operand(Site& site) {
  if (site.at->operand_count() == 0) return "";
  const auto place =
      static_cast<size_t>(site.random.below(static_cast<int64_t>(site.at->operand_count())));
  Instruction* before = site.at->operand(place);
  std::vector<Instruction*> others;
  for (Instruction* one : site.at->parent()->instructions().first(site.at->number())) {
    if (one != before && one->shape() == before->shape()) others.push_back(one);
  }
  if (others.empty()) return "";
  Instruction* now = site.random.pick(others);
  site.at->set_operand(place, now);
  return fmt::format("operand {} is %{} in place of %{}", place, now->name(), before->name());
}

std::string dropped_instruction(Site& site) {
  std::vector<Instruction*> same;
  for (Instruction* operand : site.at->operands()) {
    if (operand->shape() == site.at->shape()) same.push_back(operand);
  }
  if (same.empty()) return "";
  Instruction* by = site.random.pick(same);
  site.emit.rewriter().replace(site.at, by);
  return fmt::format("%{} stands for the result", by->name());
}

std::string wrong_opcode(Site& site) {
  auto other = other_opcode(site.at->opcode());
  if (!other) return "";
  Instruction* by =
      site.emit.make(*other, site.at->operands(), site.at->attributes(), site.at->shape());
  site.emit.rewriter().replace(site.at, by);
  return fmt::format("{} in place of {}", to_string(*other), to_string(site.at->opcode()));
}

std::string direction(Site& site) {
  auto before = site.at->find(attr::direction);
  if (!before) return "";
  const auto now = static_cast<ComparisonDirection>(
      (static_cast<int64_t>(*before) + 1 + site.random.below(5)) % 6);
  site.at->set(attr::direction, now);
  return fmt::format("{} in place of {}", word(AttributeId::direction, static_cast<int64_t>(now)),
                     word(AttributeId::direction, static_cast<int64_t>(*before)));
}

std::string lost_dependency(Site& site) {
  std::span<Instruction* const> waits = site.at->get(attr::control_predecessors);
  if (waits.empty()) return "";
  const int64_t place = site.random.below(static_cast<int64_t>(waits.size()));
  std::vector<Instruction*> left(waits.begin(), waits.end());
  left.erase(left.begin() + place);
  const std::string text =
      fmt::format("%{} is not waited for", waits[static_cast<size_t>(place)]->name());
  wait_no_more(site, left);
  return text;
}

std::string swapped_branches(Site& site) {
  if (site.at->opcode() != Opcode::kConditional) return "";
  if (auto first = site.at->find(attr::true_computation)) {
    Computation* second = site.at->get(attr::false_computation);
    site.at->set(attr::true_computation, second);
    site.at->set(attr::false_computation, *first);
    return "the branches for true and false change places";
  }
  std::span<Computation* const> before = site.at->get(attr::branch_computations);
  std::vector<Computation*> branches(before.begin(), before.end());
  if (branches.size() < 2) return "";
  const auto i = static_cast<size_t>(site.random.below(static_cast<int64_t>(branches.size()) - 1));
  std::swap(branches[i], branches[i + 1]);
  site.at->set(attr::branch_computations,
               std::span<Computation* const>(site.emit.rewriter().arena().copy(branches)));
  return fmt::format("branches {} and {} change places", i, i + 1);
}

std::string loop_bound(Site& site) {
  if (site.at->opcode() != Opcode::kWhile) return "";
  Instruction* test = site.at->get(attr::condition)->root();
  auto before = test->find(attr::direction);
  if (test->opcode() != Opcode::kCompare || !before || off_by_one(*before) == *before) return "";
  test->set(attr::direction, off_by_one(*before));
  return fmt::format("%{} is {} in place of {}", test->name(),
                     word(AttributeId::direction, static_cast<int64_t>(off_by_one(*before))),
                     word(AttributeId::direction, static_cast<int64_t>(*before)));
}

}  // namespace minihlo::errors
