#include "tools/tensors/tensor_names.h"

#include <charconv>
#include <unordered_set>

#include <fmt/format.h>

namespace minihlo {
namespace {

// Calls `visit(shape, path)` with every array of a shape; paths are "", ".0", ".1.2".
template <class Visit>
void each_leaf(const Shape* shape, const std::string& path, const Visit& visit) {
  if (shape->is_tuple()) {
    int64_t i = 0;
    for (const Shape* element : shape->elements()) {
      each_leaf(element, fmt::format("{}.{}", path, i++), visit);
    }
  } else if (!shape->is_token()) {
    visit(shape, path);
  }
}

}  // namespace

std::vector<LeafName> input_leaves(const Module& module) {
  std::vector<LeafName> leaves;
  std::unordered_set<std::string> names;
  for (const Instruction* parameter : module.entry()->parameters()) {
    const int64_t number = parameter->get(attr::parameter_number);
    each_leaf(parameter->shape(), "", [&](const Shape* shape, const std::string& path) {
      LeafName leaf{fmt::format("p{}{}", number, path),
                    fmt::format("{}{}", parameter->name(), path),
                    fmt::format("parameter {}{}{} (%{})", number, path.empty() ? "" : ", element ",
                                path.empty() ? path : path.substr(1), parameter->name()),
                    shape};
      names.insert(leaf.name);
      leaves.push_back(std::move(leaf));
    });
  }
  // %p1 may be parameter 0: p1 is parameter 1 all the same.
  for (LeafName& leaf : leaves) {
    if (leaf.own != leaf.name && names.contains(leaf.own)) leaf.own.clear();
  }
  return leaves;
}

std::vector<LeafName> output_leaves(const Module& module) {
  std::vector<LeafName> leaves;
  const Shape* shape = module.entry()->root()->shape();
  each_leaf(shape, "", [&](const Shape* leaf, const std::string& path) {
    const std::string number = path.empty() ? "0" : path.substr(1);
    leaves.push_back({"o" + number, "", "output " + number, leaf});
  });
  return leaves;
}

int64_t take_device(std::string_view& name) {
  if (!name.starts_with('d')) return -1;
  int64_t device = -1;
  const char* end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + 1, end, device);
  if (error != std::errc() || at == end || *at != '/' || device < 0) return -1;
  name = {at + 1, static_cast<size_t>(end - at - 1)};
  return device;
}

std::string with_device(int64_t device, std::string_view name) {
  return fmt::format("d{}/{}", device, name);
}

}  // namespace minihlo
