#include "tools/run_output.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "tools/case_file.h"
#include "tools/error_output.h"
#include "tools/module_file.h"
#include "tools/run_data.h"
#include "tools/tensors/tensor_file.h"

namespace minihlo {
namespace {

// The devices whose outputs go into one file, by path.
std::map<std::string, std::vector<int>> devices_by_path(const std::string& path, const Mesh& mesh,
                                                        std::span<const int> devices) {
  std::map<std::string, std::vector<int>> result;
  for (const int device : devices) result[path_of_device(path, mesh, device)].push_back(device);
  return result;
}

const std::vector<HostTensor>& of_device(const Inputs& inputs, int device) {
  return inputs[inputs.size() == 1 ? 0 : static_cast<size_t>(device)];
}

// The inputs of all devices, those that they share once.
void add_inputs(std::vector<NamedTensor>& tensors, std::span<const LeafName> leaves,
                const Inputs& inputs) {
  for (size_t i = 0; i < leaves.size(); ++i) {
    const HostTensor& first = inputs[0][i];
    const bool is_shared = std::ranges::all_of(
        inputs, [&](const std::vector<HostTensor>& of) { return of[i].data == first.data; });
    for (size_t device = 0; device < (is_shared ? 1 : inputs.size()); ++device) {
      std::string name =
          is_shared ? leaves[i].name : with_device(static_cast<int64_t>(device), leaves[i].name);
      tensors.push_back({std::move(name), inputs[device][i]});
    }
  }
}

// What one device takes or gives, by names without a device.
void add_plain(std::vector<NamedTensor>& tensors, std::span<const LeafName> leaves,
               const std::vector<HostTensor>& arrays) {
  for (size_t i = 0; i < leaves.size(); ++i) tensors.push_back({leaves[i].name, arrays[i]});
}

bool write_case(const std::string& path, const Module& module, const Mesh& mesh,
                std::span<const int> devices, const Inputs& inputs,
                const std::vector<std::vector<HostTensor>>& outputs) {
  Case made;
  made.name = module.name();
  made.replicas = mesh.replicas;
  made.partitions = mesh.partitions;
  made.inputs = inputs;
  made.outputs.emplace();
  for (const int device : devices) made.outputs->push_back(outputs[static_cast<size_t>(device)]);
  if (devices.size() < outputs.size()) made.devices.emplace(devices.begin(), devices.end());
  return write_output(path, print_case(made));
}

}  // namespace

std::string problem_of_run_file(const std::string& path, const Module& module, const Mesh& mesh,
                                std::span<const int> devices) {
  const std::optional<TensorForm> form = tensor_form_of_name(path);
  if (!form && is_path_of_devices(path)) {
    return fmt::format("'{}': a case is for all devices: .safetensors, .npz or .npy is needed",
                       path);
  }
  if (form != TensorForm::kNpy) return "";
  const size_t count = output_leaves(module).size();
  if (count != 1) return fmt::format("'{}' can hold one output, but there are {}", path, count);
  for (const auto& [file, of_file] : devices_by_path(path, mesh, devices)) {
    if (of_file.size() == 1) continue;
    return fmt::format(
        "'{}' can hold the output of one device, but there are {}: --devices chooses one, and "
        "{{device}} in the name makes a file for each",
        file, of_file.size());
  }
  return "";
}

bool write_run(const std::string& path, const Module& module, const Mesh& mesh,
               std::span<const int> devices, const Inputs& inputs,
               const std::vector<std::vector<HostTensor>>& outputs) {
  const std::optional<TensorForm> form = tensor_form_of_name(path);
  if (!form) return write_case(path, module, mesh, devices, inputs, outputs);
  const std::vector<LeafName> input_names = input_leaves(module);
  const std::vector<LeafName> output_names = output_leaves(module);
  for (const auto& [file, of_file] : devices_by_path(path, mesh, devices)) {
    std::vector<NamedTensor> tensors;
    const bool is_of_one = is_path_of_devices(path) && of_file.size() == 1;
    if (form != TensorForm::kNpy) {
      if (is_of_one) {
        add_plain(tensors, input_names, of_device(inputs, of_file[0]));
      } else {
        add_inputs(tensors, input_names, inputs);
      }
    }
    for (const int device : of_file) {
      add_plain(tensors, output_names, outputs[static_cast<size_t>(device)]);
      if (is_of_one) continue;
      for (size_t i = tensors.size() - output_names.size(); i < tensors.size(); ++i) {
        tensors[i].name = with_device(device, tensors[i].name);
      }
    }
    const std::string wrong = write_tensors(tensors, *form, file);
    if (wrong.empty()) continue;
    print_error(fmt::format("cannot write '{}': {}", file, wrong));
    return false;
  }
  return true;
}

}  // namespace minihlo
