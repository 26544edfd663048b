// The same module in wider arithmetic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "ir/element_type.h"
#include "ir/module.h"
#include "sim/run/inputs.h"

namespace minihlo::prove {

/// The types whose arithmetic is widened to f64: floats of at most 32 bits that have a sign.
bool is_widened(ElementType type);

/// How a module is computed in f64 that was written for narrower types. By default a convert to one
/// of these still rounds to it: it says so.
struct WideArithmetic {
  /// Converts to types with at least as many bits of significand as this one keep all: a compiler
  /// may keep more precision than results have.
  std::optional<ElementType> unrounded;
  /// Where not 0, constants that take more than half of the bits of their type's significand, as
  /// 0.1 does, are moved by half a unit in the last place: what they were rounded from may lie
  /// there. Which go up and which down is drawn by this number and their value.
  uint64_t nudge = 0;

  /// Whether a convert may change the value.
  bool rounds(ElementType source, ElementType target) const;
  /// What a convert from `source` to the widened type `target` keeps of a value.
  double converted(double value, ElementType source, ElementType target) const;
  /// The value that a constant of a widened type has.
  double constant(ElementType type, double value) const;
};

/// A copy of the module that computes in f64 what it computed in narrower floats. Null where the
/// module looks at the bits of floats, or has complex numbers.
std::unique_ptr<Module> widened(const Module& module, const WideArithmetic& arithmetic);

/// Inputs for it, with the same values. Nothing when there is no memory for them.
std::optional<Inputs> widened(const Inputs& inputs);

}  // namespace minihlo::prove
