// Rewrites one computation: instructions are put before others and take their places.
//
//   Rewriter rewriter(computation);
//   while (Instruction* at = rewriter.next()) {
//     if (!is_wanted(at)) continue;
//     Instruction* by = rewriter.emit(Opcode::kNegate, "negate", at->shape(), at->operands());
//     rewriter.replace(at, by);
//   }
//   rewriter.finish();
//
// All uses are redirected in one sweep at the end, so any number of rewrites takes time linear in
// the size of the computation. Until then operands still name what has been replaced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace minihlo {

class Rewriter {
 public:
  explicit Rewriter(Computation* computation);
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  Computation* computation() const { return computation_; }
  Module& module() const { return *computation_->module(); }
  ShapePool& shapes() const { return module().shapes(); }
  Arena& arena() const { return module().arena(); }

  /// Goes on to the next instruction of the list as it was at the start; null behind the last one.
  Instruction* next();

  /// Makes an instruction before the one at hand, or at the end of the list behind the last one.
  /// Its name is `base`, or `base.N` where that is taken.
  Instruction* emit(Opcode opcode, std::string_view base, const Shape* shape,
                    std::span<Instruction* const> operands,
                    std::span<const Attribute> attributes = {});
  Instruction* emit(Opcode opcode, std::string_view base, const Shape* shape,
                    std::initializer_list<Instruction*> operands,
                    std::initializer_list<Attribute> attributes = {}) {
    return emit(opcode, base, shape, std::span(operands.begin(), operands.size()),
                std::span(attributes.begin(), attributes.size()));
  }

  // Constants. Numbers are cut to the width of their type.
  /// Of any array shape, from the bytes of its elements in row-major order.
  Instruction* constant(const Shape* shape, std::span<const std::byte> bytes);
  /// A vector of an integer type or pred.
  Instruction* constant(ElementType type, std::span<const int64_t> values);
  /// A scalar of an integer type or pred.
  Instruction* constant(ElementType type, int64_t value);
  /// A scalar all of whose bits are 0, of any type.
  Instruction* zero(ElementType type);

  /// Lets `by` take the place of `old` wherever that is an operand, a control predecessor or the
  /// root, and drops `old`. `by` may be replaced in turn. Shapes are the caller's business.
  void replace(Instruction* old, Instruction* by);
  /// Drops `old`, which is nobody's operand once all is done, nor the root; what waits for it waits
  /// for all of `heirs`.
  void remove(Instruction* old, std::span<Instruction* const> heirs = {});

  /// Puts the new list in place. Nothing else may be called afterwards.
  void finish();
  /// Whether anything was emitted, replaced or removed.
  bool changed() const { return changed_; }

 private:
  struct Fate {
    bool gone = false;
    std::vector<Instruction*> heirs;  // of one that was replaced: what took its place
  };
  Fate& fate(const Instruction* instruction);
  const Fate* find_fate(const Instruction* instruction) const;
  Instruction* standing(Instruction* instruction);
  void redirect(Instruction* instruction);

  Computation* computation_;
  std::vector<Instruction*> old_;
  size_t position_ = 0;  // behind the instruction at hand
  std::vector<Instruction*> list_;
  std::vector<int32_t> fate_of_;  // by number; -1: none
  std::vector<Fate> fates_;
  bool changed_ = false;
};

}  // namespace minihlo
