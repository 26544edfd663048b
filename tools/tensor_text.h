// Arrays as text for people.
#pragma once

#include <string>

#include "sim/run/tensor.h"

namespace minihlo {

/// "f32[2,3]" and the elements: of a scalar or vector behind it, of a matrix in rows below it, of
/// more dimensions matrix by matrix, each under its index. Of more than 1000 elements the first and
/// last three rows and columns of the first and last matrix are shown, unless `in_full`. Lines
/// below the first begin with four blanks; there is no line end behind the last.
std::string tensor_text(const HostTensor& tensor, bool in_full);

}  // namespace minihlo
