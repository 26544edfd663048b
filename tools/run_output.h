// Writing what went into a run and what came out of it: minihlo run -o.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/semantics/mesh.h"
#include "sim/run/inputs.h"

namespace minihlo {

/// What is wrong with writing what `devices` give to such a path, as far as that is known before
/// the run; or nothing.
std::string problem_of_run_file(const std::string& path, const Module& module, const Mesh& mesh,
                                std::span<const int> devices);

/// Writes a file in the form that the ending of its name stands for, else a case: the inputs, and
/// the outputs of `devices`, under the names of tools/tensors/tensor_names.h. An .npy file takes
/// one output and no input. A path with {device} or the like stands for a file a device, where
/// names go without the device. Reports what goes wrong and returns false.
bool write_run(const std::string& path, const Module& module, const Mesh& mesh,
               std::span<const int> devices, const Inputs& inputs,
               const std::vector<std::vector<HostTensor>>& outputs);

}  // namespace minihlo
