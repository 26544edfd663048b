// The names of a module's inputs and outputs in files of tensors.
//
//   p1      parameter 1; p1.0 its first element, where it is a tuple, p1.0.2 and so on
//   o0      the result; of a tuple its first element, o1 the next, o1.0 and so on
//   d3/p1   that of device 3 alone
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"

namespace minihlo {

/// An array that goes into the entry computation or comes out of it.
struct LeafName {
  std::string name;         // "p1.0", "o2"
  std::string own;          // the same by the parameter's own name; empty where that is taken
  std::string description;  // "parameter 1, element 0 (%x)", "output 2"
  const Shape* shape;
};

/// The leaves of all entry parameters in order, tokens left out.
std::vector<LeafName> input_leaves(const Module& module);
/// The leaves of the entry's result, tokens left out.
std::vector<LeafName> output_leaves(const Module& module);

/// The device that a name begins with ("d3/"), which is taken off it; -1 where there is none.
int64_t take_device(std::string_view& name);
/// "d3/p1".
std::string with_device(int64_t device, std::string_view name);

}  // namespace minihlo
