// Two modules, run on the same inputs by the simulator.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/prove/demand.h"
#include "sim/prove/equivalence.h"
#include "sim/run/simulator.h"

namespace minihlo::prove {

/// An output element.
struct OutputPlace {
  int64_t device;
  int64_t output;  // leaf
  int64_t index;   // row-major
};

ElementBytes element_of(const HostTensor& tensor, int64_t index);

/// A tensor of that one element.
HostTensor one_element(ElementType type, const ElementBytes& bytes);

/// Whether two elements are the same; any NaN is any NaN.
bool same_value(ElementType type, const ElementBytes& a, const ElementBytes& b);

/// The tensor that it is an element of.
const HostTensor& output_at(const RunResult& result, const OutputPlace& place);

/// The first element that differs in the results of two runs.
std::optional<OutputPlace> difference(const RunResult& before, const RunResult& after);

/// The modules and options must outlive it.
class ModulePair {
 public:
  ModulePair(const Module& before, const Module& after, const EquivalenceOptions& options);

  /// Of the array leaves of parameters and outputs, which both modules have alike.
  std::span<const Shape* const> parameter_shapes() const { return parameter_shapes_; }
  std::span<const Shape* const> output_shapes() const { return output_shapes_; }

  /// Whether either module computes with floats in a way that may round.
  bool may_round() const { return may_round_; }

  /// The larger of the modules' own magnitudes (see precision.h).
  double own_magnitude() const;

  /// Whether the time that all may take is over.
  bool is_late() const;

  /// Whether inputs and outputs take at most `bytes`, and half of what a run may take.
  bool fits(int64_t bytes) const;

  /// Inputs number `number`: values distinct by construction first, then random ones of all kinds.
  /// An error when none can be made.
  tl::expected<Inputs, Stop> random_inputs(int64_t number) const;
  /// Whether the device is the first that has its data of a leaf of the parameters.
  bool owns(size_t device, size_t parameter) const;
  /// Inputs of these elements, which are of devices that own them, and else of zeros; empty when
  /// there is no memory for them.
  Inputs dense(const SparseInputs& sparse) const;
  /// Inputs on which the modules still differ at this place, zero where that can be: whole tensors
  /// first, then halves of what is left.
  Inputs shrunk(Inputs inputs, const OutputPlace& place) const;

  /// What each module makes of the inputs.
  std::array<tl::expected<RunResult, Stop>, 2> run(const Inputs& inputs) const;
  /// Whether the element there differs when both are run; false when a run stops.
  bool differ_at(const OutputPlace& place, const Inputs& inputs,
                 RunResult* results = nullptr) const;
  /// Whether a difference of float outputs may be rounding: it shrinks away in a run in wider
  /// arithmetic, or there is none.
  bool may_be_rounding(const Inputs& inputs, const OutputPlace& place,
                       const HostTensor* const (&outputs)[2]) const;

 private:
  tl::expected<RunResult, Stop> run(const Module& module, const Inputs& inputs) const;

  const Module& before_;
  const Module& after_;
  const EquivalenceOptions& options_;
  const bool may_round_;
  std::vector<const Shape*> parameter_shapes_;
  std::vector<const Shape*> output_shapes_;
};

}  // namespace minihlo::prove
