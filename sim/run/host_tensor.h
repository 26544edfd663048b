// Values of a run as tensors that outlive it.
#pragma once

#include <tl/expected.hpp>

#include "sim/run/kernel.h"
#include "sim/run/tensor.h"

namespace minihlo {

/// The value of an array shape, which may be dynamic. Its memory is shared where it can be.
/// `instruction`: whose value it is, for messages.
tl::expected<HostTensor, Stop> host_tensor(const Instruction& instruction, RunContext& context,
                                           const Shape* shape, const Buffer& buffer);

/// What is wrong with a tensor as a value of a shape, or nothing.
std::string tensor_misfit(const HostTensor& tensor, const Shape* shape);

}  // namespace minihlo
