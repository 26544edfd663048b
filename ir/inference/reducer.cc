#include "ir/inference/reducer.h"

namespace minihlo::inference {

tl::expected<Signature, std::string> signature(std::string_view what,
                                               const Computation* computation) {
  if (!computation || !computation->root()) return fail("{} names no computation", what);
  const std::span<Instruction* const> parameters = computation->parameters();
  if (!computation->has_all_parameters()) {
    const auto missing = std::find(parameters.begin(), parameters.end(), nullptr);
    return fail("{}=%{} lacks parameter {}", what, computation->name(),
                missing - parameters.begin());
  }
  return Signature{Signature::Parameters(parameters), computation->root()->shape()};
}

tl::expected<Reducer::Types, std::string> Reducer::result_types() const {
  auto called = signature(what_, computation_);
  if (!called) return tl::make_unexpected(called.error());
  const std::string name = fmt::format("{}=%{}", what_, computation_->name());
  if (called->parameters.size() != 2 * n_) {
    return fail("{} takes {} parameters, but {} needs {}", name, called->parameters.size(),
                context_.name(), 2 * n_);
  }
  Types types;
  types.is_tuple = called->result->is_tuple();
  std::vector<const Shape*> results;
  if (types.is_tuple) {
    results.assign(called->result->elements().begin(), called->result->elements().end());
  } else {
    results.push_back(called->result);
  }
  if (results.size() != n_) {
    return fail("{} returns {}, but {} needs {} values", name, text(called->result),
                context_.name(), n_);
  }
  for (size_t i = 0; i < n_; ++i) {
    if (!results[i]->is_scalar()) {
      return fail("{} returns {}, but {} needs scalars", name, text(called->result),
                  context_.name());
    }
    const ElementType type = results[i]->element_type();
    if (!compatible(called->parameters[i], results[i])) {
      return fail(
          "{} takes {} as parameter {} and returns {}: its result must fit as the next "
          "accumulator",
          name, text(called->parameters[i]), i, text(results[i]));
    }
    if (!like(type, accumulators[i])) {
      return fail("{} accumulates {}, but the initial value is {}", name, text(results[i]),
                  to_string(accumulators[i]));
    }
    const Shape* element = called->parameters[n_ + i];
    if (!element->is_scalar() || !like(element->element_type(), elements[i])) {
      return fail("{} takes {} as parameter {}, but the elements are {}", name, text(element),
                  n_ + i, to_string(elements[i]));
    }
    if (!like(type, elements[i])) {
      return fail("{} accumulates {}, but the elements are {}", name, text(results[i]),
                  to_string(elements[i]));
    }
    types.types.push_back(type);
  }
  return types;
}

}  // namespace minihlo::inference
