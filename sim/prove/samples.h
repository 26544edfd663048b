// Values to try modules on.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "sim/prove/demand.h"
#include "sim/run/tensor.h"

namespace minihlo::prove {

enum class SampleKind : uint8_t {
  kSmall,    // small integers, exact in every type
  kNear,     // any integers; floats of about one magnitude, so that sums round
  kBits,     // any bits; floats of any magnitude, but finite
  kUniform,  // of a tensor: one special value for all elements
  kSpecial,  // NaN, infinities, zeros of both signs, denormals, extremes, and small integers
};

/// A random value of a type.
ElementBytes sample(ElementType type, SampleKind kind, std::mt19937_64& random);

/// A value of the type whose bits are those of another one, or a few more or less: what is the same
/// up to rounding, or beside it. Of finite floats they are finite.
ElementBytes sample_beside(ElementType type, const ElementBytes& value, std::mt19937_64& random);

/// A tensor of such values; nothing when there is no memory for it.
std::optional<HostTensor> sample_tensor(const Shape* shape, SampleKind kind,
                                        std::mt19937_64& random);

/// A tensor of zeros.
std::optional<HostTensor> zero_tensor(const Shape* shape);

}  // namespace minihlo::prove
