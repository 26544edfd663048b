// The computations that reduce, map, sort, scatter and all-reduce call on scalars, as programs that
// run on blocks of elements: instruction by instruction, each over the whole block.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include <tl/expected.hpp>

#include "ir/module.h"
#include "ir/semantics/elementwise.h"
#include "sim/stop.h"

namespace minihlo {

/// A computation on elements that is run by other means than a program's steps.
class ElementFunction {
 public:
  virtual ~ElementFunction() = default;
  /// As ScalarProgram::run.
  virtual void run(int64_t count, const std::byte* const* parameters, const int64_t* steps,
                   std::byte* const* results) const = 0;
};

class ScalarProgram {
 public:
  /// A computation whose parameters and results are scalars, or all arrays of the same dimensions,
  /// made of elementwise instructions, constants, tuples, calls and broadcasts of scalars.
  /// Stop::kUnsupported names what else is in it.
  ///
  /// Where `parameter_types` or `result_types` are not empty, the program takes or gives elements
  /// of these types, and converts where the computation's own differ.
  static tl::expected<ScalarProgram, Stop> compile(
      const Computation& computation, std::span<const ElementType> parameter_types = {},
      std::span<const ElementType> result_types = {});
  /// A program that is `function`, of elements of these types.
  ScalarProgram(std::shared_ptr<const ElementFunction> function,
                std::vector<ElementType> parameter_types, std::vector<ElementType> result_types)
      : function_(std::move(function)),
        parameter_types_(std::move(parameter_types)),
        result_types_(std::move(result_types)) {}

  int parameter_count() const { return static_cast<int>(parameter_types_.size()); }
  int result_count() const { return static_cast<int>(result_types_.size()); }
  const std::vector<ElementType>& parameter_types() const { return parameter_types_; }
  const std::vector<ElementType>& result_types() const { return result_types_; }
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
  ScalarProgram() = default;
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

  std::shared_ptr<const ElementFunction> function_;  // null: the steps below
  std::vector<ElementType> parameter_types_;
  std::vector<ElementType> result_types_;
  std::vector<Constant> constants_;
  std::vector<Step> steps_;
  std::vector<int64_t> step_offset_;  // of each step's result in the scratch memory
  int64_t scratch_size_ = 0;
  std::vector<int> results_;
  std::optional<Opcode> single_opcode_;
};

/// Programs by computation and types, made at the first question.
class ScalarPrograms {
 public:
  /// What makes a program of a computation that ScalarProgram::compile refuses.
  using Fallback = std::function<tl::expected<ScalarProgram, Stop>(const Computation&)>;
  void set_fallback(Fallback fallback) { fallback_ = std::move(fallback); }

  /// The program of a computation that takes and gives its own types.
  tl::expected<const ScalarProgram*, Stop> of(const Computation& computation) {
    return of(computation, {}, {});
  }
  /// The one that takes and gives these types.
  tl::expected<const ScalarProgram*, Stop> of(const Computation& computation,
                                              std::vector<ElementType> parameter_types,
                                              std::vector<ElementType> result_types);

 private:
  using Key = std::tuple<const Computation*, std::vector<ElementType>, std::vector<ElementType>>;
  std::map<Key, std::unique_ptr<ScalarProgram>> programs_;
  Fallback fallback_;
};

}  // namespace minihlo
