// Terms of elements that are equal whatever the truth values in them are.
//
// A truth value that is no combination of others is taken for true, then for false; both terms are
// made anew with it, and with what follows from it, until they are equal or none is left.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/prove/element_terms.h"
#include "sim/prove/types.h"

namespace minihlo::prove {

class ElementTerms::Cases {
 public:
  explicit Cases(ElementTerms& terms) : terms_(terms) {}

  bool equal(uint32_t a, uint32_t b, int depth = 0) {
    constexpr int kMaxDepth = 8;
    if (a == b) return true;
    if (depth == kMaxDepth) return false;
    std::optional<uint32_t> truth = undecided(a);
    if (!truth) truth = undecided(b);
    if (!truth) return false;
    for (bool value : {true, false}) {
      assume(*truth, value);
      const std::optional<uint32_t> own_a = made_anew(a);
      const std::optional<uint32_t> own_b = own_a ? made_anew(b) : std::nullopt;
      if (!own_b || !equal(*own_a, *own_b, depth + 1)) return false;
    }
    return true;
  }

 private:
  static constexpr int64_t kMaxSteps = int64_t{1} << 14;     // for two terms
  static constexpr int64_t kMaxAllSteps = int64_t{1} << 22;  // for all of a proof
  static constexpr size_t kMaxSize = 2048;                   // terms within one

  bool is_exhausted() {
    ++terms_.case_steps_;
    return ++steps_ > kMaxSteps || terms_.case_steps_ > kMaxAllSteps;
  }

  const Key& key(uint32_t term) const { return *terms_.keys_[term]; }

  // The arguments that are terms.
  std::span<const uint32_t> arguments(uint32_t term) const {
    const Key& own = key(term);
    const bool is_leaf = own.what == terms_.whole_ || own.what == terms_.tensor_ ||
                         own.what == terms_.part_ || is_literal(own);
    return is_leaf ? std::span<const uint32_t>() : own.arguments;
  }
  bool is_literal(const Key& own) const {
    return std::ranges::find(terms_.literals_, own.what) != terms_.literals_.end();
  }
  const Signature& what(uint32_t term) const { return terms_.terms_.signature(key(term).what); }

  // Whether it is a truth value that is neither known nor made of others.
  bool is_truth(uint32_t term) const {
    const Key& own = key(term);
    if (own.what == terms_.whole_) {
      const Handle tensor{own.arguments[0], static_cast<int32_t>(own.arguments[1])};
      return terms_.terms_.node(tensor).type == ElementType::PRED;
    }
    if (is_literal(own)) return false;
    const Signature& signature = what(term);
    return signature.opcode && signature.result_type == ElementType::PRED &&
           signature.kind == Signature::Kind::kPointwise && *signature.opcode != Opcode::kSelect;
  }

  // A truth value in a term that has none in it.
  std::optional<uint32_t> undecided(uint32_t root) {
    std::vector<std::pair<uint32_t, bool>> pending{{root, false}};
    std::unordered_map<uint32_t, bool> seen;
    while (!pending.empty()) {
      const auto [term, is_left] = pending.back();
      pending.pop_back();
      if (is_left) {
        if (is_truth(term)) return term;
        continue;
      }
      if (!seen.try_emplace(term, true).second) continue;
      if (seen.size() > kMaxSize || is_exhausted()) return std::nullopt;
      pending.emplace_back(term, true);
      for (uint32_t argument : arguments(term)) pending.emplace_back(argument, false);
    }
    return std::nullopt;
  }

  // Sets what the terms are where a truth value is so, and what is less than what.
  void assume(uint32_t truth, bool value) {
    known_.clear();
    lesser_.reset();
    set(truth, value);
    if (key(truth).what == terms_.whole_ || *what(truth).opcode != Opcode::kCompare) return;
    const Signature signature = what(truth);
    const ElementType type = signature.operand_types[0];
    const auto sides = arguments(truth);
    const uint32_t left = sides[0], right = sides[1];
    const ComparisonDirection direction = get(signature.attributes, attr::direction);
    const bool is_total = find(signature.attributes, attr::comparison_type).has_value();
    const bool is_plain = !is_total && !is_complex(type);
    if (direction == ComparisonDirection::kLt) {
      if (is_integer(type)) {
        lesser_ = value ? std::pair(left, right) : std::pair(right, left);
        bound_type_ = type;
      }
      if (!value || !is_plain) return;
      set_comparison(ComparisonDirection::kLt, type, right, left, false);
      set_comparison(ComparisonDirection::kEq, type, left, right, false);
    } else if (direction == ComparisonDirection::kEq && value && is_plain) {
      set_comparison(ComparisonDirection::kLt, type, left, right, false);
      set_comparison(ComparisonDirection::kLt, type, right, left, false);
      // Of floats they may be zeros of different signs.
      if (!is_integer(type)) return;
      if (is_literal(key(left))) {
        known_.emplace(right, left);
      } else {
        known_.emplace(left, right);
      }
    }
  }
  void set(uint32_t truth, bool value) {
    const std::byte byte{static_cast<unsigned char>(value)};
    known_.emplace(truth,
                   static_cast<uint32_t>(terms_.constant(ElementType::PRED, std::span(&byte, 1))));
  }
  void set_comparison(ComparisonDirection direction, ElementType type, uint32_t left,
                      uint32_t right, bool value) {
    const auto truth = static_cast<uint32_t>(terms_.rules_.normal(
        terms_.rules_.functions().compare(direction, false, type), {left, right}, terms_));
    if (is_truth(truth)) set(truth, value);
  }

  // The term with what is assumed put in; nothing where that takes too long.
  std::optional<uint32_t> made_anew(uint32_t root) {
    std::unordered_map<uint32_t, uint32_t> made = known_;
    std::vector<uint32_t> pending{root};
    while (!pending.empty()) {
      const uint32_t term = pending.back();
      if (made.contains(term)) {
        pending.pop_back();
        continue;
      }
      if (is_exhausted()) return std::nullopt;
      const size_t before = pending.size();
      for (uint32_t argument : arguments(term)) {
        if (!made.contains(argument)) pending.push_back(argument);
      }
      if (pending.size() > before) continue;
      pending.pop_back();
      std::vector<Ref> own;
      bool is_same = true;
      for (uint32_t argument : arguments(term)) {
        own.push_back(made.at(argument));
        is_same = is_same && made.at(argument) == argument;
      }
      is_same = !without_bounded(term, own) && is_same;
      made.emplace(term, is_same ? term
                                 : static_cast<uint32_t>(terms_.rules_.normal(
                                       key(term).what, std::move(own), terms_)));
    }
    return made.at(root);
  }

  // Drops from a minimum or maximum of integers what another one of them makes superfluous.
  bool without_bounded(uint32_t term, std::vector<Ref>& own) const {
    if (!lesser_ || own.size() < 2) return false;
    const Signature& signature = what(term);
    if (signature.kind != Signature::Kind::kFold || signature.result_type != bound_type_ ||
        (signature.opcode != Opcode::kMinimum && signature.opcode != Opcode::kMaximum)) {
      return false;
    }
    const auto less = std::ranges::find(own, Ref{lesser_->first});
    const auto more = std::ranges::find(own, Ref{lesser_->second});
    if (less == own.end() || more == own.end()) return false;
    own.erase(signature.opcode == Opcode::kMinimum ? more : less);
    return true;
  }

  ElementTerms& terms_;
  int64_t steps_ = 0;
  std::unordered_map<uint32_t, uint32_t> known_;
  std::optional<std::pair<uint32_t, uint32_t>> lesser_;  // the first is not the greater
  ElementType bound_type_ = ElementType::S32;
};

bool ElementTerms::equal_by_cases(uint32_t a, uint32_t b) {
  if (!Cases(*this).equal(a, b)) return false;
  rules_.use("cases");
  return true;
}

}  // namespace minihlo::prove
