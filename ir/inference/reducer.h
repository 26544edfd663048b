// What a called computation takes and gives.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/inference/context.h"
#include "ir/module.h"

namespace minihlo::inference {

struct Signature {
  /// The shapes of the parameters by number.
  class Parameters {
   public:
    explicit Parameters(std::span<Instruction* const> parameters = {}) : parameters_(parameters) {}
    size_t size() const { return parameters_.size(); }
    const Shape* operator[](size_t i) const { return parameters_[i]->shape(); }

   private:
    std::span<Instruction* const> parameters_;
  };
  Parameters parameters;
  const Shape* result = nullptr;
};

/// The signature of the computation that attribute `what` names. Fails where a parameter number is
/// missing or there is no root.
tl::expected<Signature, std::string> signature(std::string_view what,
                                               const Computation* computation);

/// A computation that combines 2n scalars, n accumulators then n elements, to n new accumulators.
class Reducer {
 public:
  Reducer(const Context& context, std::string_view what, const Computation* computation, size_t n)
      : context_(context), what_(what), computation_(computation), n_(n) {}

  /// The element types of the initial values and of what is reduced: n each.
  std::vector<ElementType> accumulators;
  std::vector<ElementType> elements;

  struct Types {
    std::vector<ElementType> types;
    bool is_tuple;  // a tuple even of one
  };
  /// The element types of the result. Fails where the computation does not fit: float types may
  /// differ in precision, other types must be equal.
  tl::expected<Types, std::string> result_types() const;

 private:
  const Context& context_;
  std::string_view what_;
  const Computation* computation_;
  size_t n_;
};

}  // namespace minihlo::inference
