#include "sim/prove/module_pair.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <random>

#include "ir/numbers.h"
#include "sim/prove/precision.h"
#include "sim/prove/samples.h"

namespace minihlo::prove {
namespace {

constexpr int kShrinkRuns = 200;
constexpr std::chrono::seconds kShrinkTime{5};

}  // namespace

ElementBytes element_of(const HostTensor& tensor, int64_t index) {
  ElementBytes bytes{};
  auto width = static_cast<size_t>(info(tensor.type).bytes);
  std::memcpy(bytes.data(), tensor.data.get() + static_cast<size_t>(index) * width, width);
  return bytes;
}

HostTensor one_element(ElementType type, const ElementBytes& bytes) {
  std::shared_ptr<std::byte> data = allocate_host(info(type).bytes);
  std::memcpy(data.get(), bytes.data(), static_cast<size_t>(info(type).bytes));
  return {type, {}, data, info(type).bytes};
}

bool same_value(ElementType type, const ElementBytes& a, const ElementBytes& b) {
  return compare(one_element(type, a), one_element(type, b), {}).count == 0;
}

const HostTensor& output_at(const RunResult& result, const OutputPlace& place) {
  return result.outputs[static_cast<size_t>(place.device)][static_cast<size_t>(place.output)];
}

ModulePair::ModulePair(const Module& before, const Module& after, const EquivalenceOptions& options)
    : before_(before),
      after_(after),
      options_(options),
      may_round_(prove::may_round(before) || prove::may_round(after)) {
  for (const Instruction* parameter : before.entry()->parameters()) {
    for (const Shape* leaf : leaf_shapes(parameter->shape())) {
      if (leaf->is_array()) parameter_shapes_.push_back(leaf);
    }
  }
  for (const Shape* leaf : leaf_shapes(before.entry()->root()->shape())) {
    if (leaf->is_array()) output_shapes_.push_back(leaf);
  }
}

double ModulePair::own_magnitude() const {
  return std::max(prove::own_magnitude(before_), prove::own_magnitude(after_));
}

bool ModulePair::may_be_rounding(const Inputs& inputs, const OutputPlace& place,
                                 const HostTensor* const (&outputs)[2]) const {
  const ElementType type = outputs[0]->type;
  if (!may_round_ || (!is_float(type) && !is_complex(type))) return false;
  const ElementBytes elements[2] = {element_of(*outputs[0], place.index),
                                    element_of(*outputs[1], place.index)};
  const double largest = largest_magnitude(inputs), own = own_magnitude();
  const std::optional<Inputs> wide_inputs = is_widened(type) ? widened(inputs) : std::nullopt;
  if (!wide_inputs || !widened(before_, {}) || !widened(after_, {})) {
    return prove::may_be_rounding(type, {elements[0].data(), elements[1].data()}, largest, own);
  }
  const double values[2] = {decode_float(type, elements[0].data()),
                            decode_float(type, elements[1].data())};
  auto evaluate = [&](const WideArithmetic& arithmetic) -> std::optional<std::array<double, 2>> {
    std::array<double, 2> wide;
    for (size_t side = 0; side < 2; ++side) {
      const std::unique_ptr<Module> module = widened(side == 0 ? before_ : after_, arithmetic);
      const tl::expected<RunResult, Stop> result = run(*module, *wide_inputs);
      if (!result) return std::nullopt;
      const HostTensor& output = output_at(*result, place);
      wide[side] = decode_float(output.type, element_of(output, place.index).data());
    }
    return wide;
  };
  return is_rounding(type, values, std::max(largest, own), evaluate).value_or(true);
}

tl::expected<RunResult, Stop> ModulePair::run(const Module& module, const Inputs& inputs) const {
  RunOptions options;
  options.max_memory = options_.max_memory;
  options.max_steps = options_.max_steps;
  options.deadline = options_.deadline;
  options.pure = true;
  return simulate(module, options_.mesh, inputs, options);
}

std::array<tl::expected<RunResult, Stop>, 2> ModulePair::run(const Inputs& inputs) const {
  return {run(before_, inputs), run(after_, inputs)};
}

std::optional<OutputPlace> difference(const RunResult& before, const RunResult& after) {
  for (size_t device = 0; device < before.outputs.size(); ++device) {
    for (size_t output = 0; output < before.outputs[device].size(); ++output) {
      const HostTensor& a = before.outputs[device][output];
      const HostTensor& b = after.outputs[device][output];
      if (a.data == b.data) continue;
      Difference found = compare(a, b, {});
      if (found.count > 0) {
        return OutputPlace{static_cast<int64_t>(device), static_cast<int64_t>(output), found.index};
      }
    }
  }
  return std::nullopt;
}

bool ModulePair::differ_at(const OutputPlace& place, const Inputs& inputs,
                           RunResult* results) const {
  auto before = run(before_, inputs);
  if (!before) return false;
  auto after = run(after_, inputs);
  if (!after) return false;
  const HostTensor& a = output_at(*before, place);
  const bool differ = !same_value(a.type, element_of(a, place.index),
                                  element_of(output_at(*after, place), place.index));
  if (results) {
    results[0] = *std::move(before);
    results[1] = *std::move(after);
  }
  return differ;
}

bool ModulePair::is_late() const {
  return options_.deadline && std::chrono::steady_clock::now() > *options_.deadline;
}

bool ModulePair::fits(int64_t bytes) const {
  int64_t limit = options_.max_memory > 0 ? options_.max_memory : default_max_memory();
  int64_t devices = options_.mesh.device_count();
  int64_t total = 0;
  auto add = [&](const Shape* shape) {
    int64_t own;
    if (__builtin_mul_overflow(shape->byte_count(), devices, &own) ||
        __builtin_add_overflow(total, own, &total)) {
      total = INT64_MAX / 2;
    }
  };
  for (const Shape* shape : parameter_shapes_) add(shape);
  for (const Shape* shape : output_shapes_) add(shape);
  return total <= std::min(limit / 2, bytes);
}

Inputs ModulePair::dense(const SparseInputs& sparse) const {
  Inputs inputs(static_cast<size_t>(options_.mesh.device_count()));
  std::vector<HostTensor> zeros;
  for (const Shape* shape : parameter_shapes_) {
    std::optional<HostTensor> zero = zero_tensor(shape);
    if (!zero) return {};
    zeros.push_back(*std::move(zero));
  }
  for (std::vector<HostTensor>& own : inputs) own = zeros;
  for (const auto& [place, bytes] : sparse) {
    HostTensor& tensor =
        inputs[static_cast<size_t>(place.device)][static_cast<size_t>(place.parameter)];
    if (tensor.data == zeros[static_cast<size_t>(place.parameter)].data) {
      std::optional<HostTensor> own =
          zero_tensor(parameter_shapes_[static_cast<size_t>(place.parameter)]);
      if (!own) return {};
      tensor = *std::move(own);
    }
    auto width = static_cast<size_t>(info(tensor.type).bytes);
    std::memcpy(
        const_cast<std::byte*>(tensor.data.get()) + static_cast<size_t>(place.index) * width,
        bytes.data(), width);
  }
  options_.shared.share(options_.mesh, inputs);
  return inputs;
}

tl::expected<Inputs, Stop> ModulePair::random_inputs(int64_t number) const {
  constexpr int64_t kDistinct = 4;  // the first runs
  if (number < kDistinct) {
    tl::expected<Inputs, Stop> made = make_inputs(
        before_, options_.mesh, options_.seed + static_cast<uint64_t>(number),
        options_.max_memory > 0 ? options_.max_memory : default_max_memory(), 1, options_.deadline);
    if (made) options_.shared.share(options_.mesh, *made);
    return made;
  }
  std::mt19937_64 random(options_.seed * 1000003 + static_cast<uint64_t>(number));
  SampleKind kinds[] = {SampleKind::kNear, SampleKind::kBits, SampleKind::kSpecial,
                        SampleKind::kUniform};
  SampleKind kind = kinds[number % 4];
  Inputs inputs(static_cast<size_t>(options_.mesh.device_count()));
  for (std::vector<HostTensor>& device : inputs) {
    for (const Shape* shape : parameter_shapes_) {
      std::optional<HostTensor> tensor = sample_tensor(shape, kind, random);
      if (!tensor) {
        return tl::unexpected(Stop{Stop::Kind::kMemory, "no memory for the inputs", {}});
      }
      device.push_back(*std::move(tensor));
    }
  }
  options_.shared.share(options_.mesh, inputs);
  return inputs;
}

bool ModulePair::owns(size_t device, size_t parameter) const {
  const auto number = static_cast<int64_t>(device);
  return options_.shared.owner(options_.mesh, number, static_cast<int64_t>(parameter)) == number;
}

Inputs ModulePair::shrunk(Inputs inputs, const OutputPlace& place) const {
  if (inputs.size() == 1) {
    inputs.resize(static_cast<size_t>(options_.mesh.device_count()), inputs[0]);
  }
  int runs = 0;
  const auto start = std::chrono::steady_clock::now();
  struct Range {
    size_t device, parameter;
    int64_t begin, end;
  };
  std::vector<Range> pending;
  for (size_t device = 0; device < inputs.size(); ++device) {
    for (size_t parameter = 0; parameter < inputs[device].size(); ++parameter) {
      if (!owns(device, parameter)) continue;
      pending.push_back({device, parameter, 0, inputs[device][parameter].element_count()});
    }
  }
  for (size_t next = 0; next < pending.size() && runs < kShrinkRuns; ++next) {
    if (std::chrono::steady_clock::now() - start > kShrinkTime) break;
    Range range = pending[next];
    HostTensor& tensor = inputs[range.device][range.parameter];
    auto width = static_cast<int64_t>(info(tensor.type).bytes);
    std::shared_ptr<std::byte> data = allocate_host(tensor.bytes);
    if (!data || range.begin == range.end) continue;
    std::memcpy(data.get(), tensor.data.get(), static_cast<size_t>(tensor.bytes));
    std::memset(data.get() + range.begin * width, 0,
                static_cast<size_t>((range.end - range.begin) * width));
    if (std::memcmp(data.get(), tensor.data.get(), static_cast<size_t>(tensor.bytes)) == 0)
      continue;
    HostTensor kept = tensor;
    tensor.data = data;
    options_.shared.share(options_.mesh, inputs);
    ++runs;
    if (differ_at(place, inputs)) continue;
    tensor = kept;
    options_.shared.share(options_.mesh, inputs);
    if (range.end - range.begin == 1) continue;
    int64_t middle = (range.begin + range.end) / 2;
    pending.push_back({range.device, range.parameter, range.begin, middle});
    pending.push_back({range.device, range.parameter, middle, range.end});
  }
  return inputs;
}

}  // namespace minihlo::prove
