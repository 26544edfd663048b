// The computations that reduce, map, sort, scatter and all-reduce call on scalars, as programs that
// run on blocks of elements: instruction by instruction, each over the whole block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include <tl/expected.hpp>

#include "ir/module.h"
#include "ir/semantics/elementwise.h"
#include "sim/stop.h"

namespace minihlo {

class ScalarProgram {
 public:
  /// A computation whose parameters and results are scalars, or all arrays of the same dimensions,
  /// made of elementwise instructions, constants, tuples, calls and broadcasts of scalars.
  /// Stop::kUnsupported names what else is in it.
  static tl::expected<ScalarProgram, Stop> compile(const Computation& computation);

  int parameter_count() const { return static_cast<int>(parameter_types_.size()); }
  int result_count() const { return static_cast<int>(results_.size()); }
  ElementType parameter_type(int i) const { return parameter_types_[static_cast<size_t>(i)]; }
  ElementType result_type(int i) const { return result_types_[static_cast<size_t>(i)]; }

  /// Applies the computation to `count` sets of elements. Parameter i is read from parameters[i] on
  /// and advances by steps[i] elements, 0 or 1. A result may be the memory of a parameter with step
  /// 1 and elements of the same size.
  void run(int64_t count, const std::byte* const* parameters, const int64_t* steps,
           std::byte* const* results) const;

  /// The elementwise opcode where the computation is nothing but opcode(parameter 0, parameter 1)
  /// or, where the order of operands doesn't matter, the other way round.
  std::optional<Opcode> single_opcode() const { return single_opcode_; }
  /// The parameter that result i is, or -1.
  int forwarded_parameter(int i) const;

 private:
  friend class ScalarCompiler;
  struct Constant {
    alignas(16) std::byte bytes[16];
  };
  // Values are numbered: parameters first, then constants, then what steps make.
  struct Step {
    ElementwiseOp op;
    std::array<int, ElementwiseOp::kMaxOperands> operands;
  };

  void run_block(int64_t count, const std::byte* const* parameters, const int64_t* steps,
                 std::byte* const* results, std::byte* scratch) const;

  std::vector<ElementType> parameter_types_;
  std::vector<ElementType> result_types_;
  std::vector<Constant> constants_;
  std::vector<Step> steps_;
  std::vector<int64_t> step_offset_;  // of each step's result in the scratch memory
  int64_t scratch_size_ = 0;
  std::vector<int> results_;
  std::optional<Opcode> single_opcode_;
};

/// Programs by computation, made at the first question.
class ScalarPrograms {
 public:
  tl::expected<const ScalarProgram*, Stop> of(const Computation& computation);

 private:
  std::unordered_map<const Computation*, std::unique_ptr<ScalarProgram>> programs_;
};

}  // namespace minihlo
