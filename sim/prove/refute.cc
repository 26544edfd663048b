#include "sim/prove/refute.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/numbers.h"
#include "ir/row_major.h"
#include "sim/prove/precision.h"
#include "sim/prove/samples.h"

namespace minihlo::prove {
namespace {

constexpr size_t kMaxDirected = 512;  // input elements that are varied at once
constexpr int kDirectedTrials = 24;   // per kind of sample
constexpr int kShrinkRuns = 200;
constexpr std::chrono::seconds kShrinkTime{5};
// Bytes of inputs and outputs up to which a counterexample is replayed by a run: beyond it, where a
// run takes seconds, evaluation by demand takes none. Random runs have nothing else to go by.
constexpr int64_t kMaxReplayed = int64_t{64} << 20;
constexpr int64_t kMaxRun = int64_t{1} << 30;
// Random runs end after this time, whatever their number.
constexpr std::chrono::seconds kRunTime{30};

HostTensor one_element(ElementType type, const ElementBytes& bytes) {
  std::shared_ptr<std::byte> data = allocate_host(info(type).bytes);
  std::memcpy(data.get(), bytes.data(), static_cast<size_t>(info(type).bytes));
  return {type, {}, data, info(type).bytes};
}

bool same_value(ElementType type, const ElementBytes& a, const ElementBytes& b) {
  return compare(one_element(type, a), one_element(type, b), {}).count == 0;
}

std::string text_of(ElementType type, const ElementBytes& bytes) {
  return element_text(one_element(type, bytes), 0);
}

ElementBytes element_of(const HostTensor& tensor, int64_t index) {
  ElementBytes bytes{};
  auto width = static_cast<size_t>(info(tensor.type).bytes);
  std::memcpy(bytes.data(), tensor.data.get() + static_cast<size_t>(index) * width, width);
  return bytes;
}

bool is_zero(ElementType type, const ElementBytes& bytes) {
  return std::ranges::all_of(std::span(bytes).first(static_cast<size_t>(info(type).bytes)),
                             [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

Refuter::Refuter(const Module& before, const Module& after, const EquivalenceOptions& options,
                 Terms& terms, Evaluator& evaluator)
    : before_(before), after_(after), options_(options), terms_(terms), evaluator_(evaluator) {
  for (const Instruction* parameter : before.entry()->parameters()) {
    std::vector<const Shape*> leaves = leaf_shapes(parameter->shape());
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i]->is_array()) continue;
      parameter_shapes_.push_back(leaves[i]);
      std::string name = fmt::format("parameter {} (%{})", parameter->get(attr::parameter_number),
                                     parameter->name());
      if (leaves.size() > 1) name += fmt::format(" leaf {}", i);
      parameter_names_.push_back(std::move(name));
    }
  }
  for (const Shape* leaf : leaf_shapes(before.entry()->root()->shape())) {
    if (leaf->is_array()) output_shapes_.push_back(leaf);
  }
}

std::string Refuter::tensor_index(const Shape* shape, int64_t index) const {
  return fmt::format("[{}]", fmt::join(multi_index(index, shape->dims()), ","));
}

std::string Refuter::origin(Handle tensor, int64_t index) const {
  Element source = terms_.source_of({tensor, index});
  const Node& node = terms_.node(source.tensor);
  auto on_device = [&] {
    return source.tensor.device < 0
               ? std::string()
               : fmt::format(" of {}", device_name(options_.mesh, source.tensor.device));
  };
  switch (node.kind) {
    case NodeKind::kParameter: {
      auto leaf = static_cast<size_t>(node.number);
      return fmt::format("{}{}{}", parameter_names_[leaf],
                         tensor_index(parameter_shapes_[leaf], source.index), on_device());
    }
    case NodeKind::kLiteral: {
      ElementBytes bytes{};
      std::ranges::copy(terms_.bytes_of(node, source.index), bytes.begin());
      return fmt::format("the constant {}", text_of(node.type, bytes));
    }
    case NodeKind::kApply: {
      const Signature& signature = terms_.signature(node.signature);
      if (signature.instruction) {
        return fmt::format("%{} = {}, element {}{}", signature.instruction->name(),
                           minihlo::to_string(signature.instruction->opcode()), source.index,
                           on_device());
      }
      return fmt::format("the result of a loop or conditional, element {}", source.index);
    }
    default:
      return "a value that is not known";
  }
}

// Whether the difference of two float elements may be rounding: it shrinks away where both are
// evaluated in wider arithmetic, or can't be.
bool Refuter::may_be_rounding(Handle before, Handle after, int64_t index,
                              const SparseInputs& inputs, const ElementBytes (&values)[2]) {
  ElementType type = terms_.node(before).type;
  if (!is_float(type)) return false;
  double narrow[2], wide[2];
  Demand demand(terms_, evaluator_, true);
  for (int side = 0; side < 2; ++side) {
    narrow[side] = decode_float(type, values[side].data());
    std::optional<ElementBytes> value =
        is_widened(type) ? demand.value(side == 0 ? before : after, index, inputs) : std::nullopt;
    if (!value) return true;
    std::memcpy(&wide[side], value->data(), sizeof(double));
  }
  if (narrow[0] == narrow[1]) return false;  // zeros of different signs
  return is_rounding(narrow, wide);
}

// The same of a run's outputs, by a run in wider arithmetic.
bool Refuter::may_be_rounding(const Inputs& inputs, const OutputPlace& place,
                              const HostTensor* const (&outputs)[2]) const {
  ElementType type = outputs[0]->type;
  if (!is_float(type)) return false;
  double narrow[2], wide[2];
  for (int side = 0; side < 2; ++side) {
    narrow[side] = decode_float(type, element_of(*outputs[side], place.index).data());
  }
  if (narrow[0] == narrow[1]) return false;  // zeros of different signs
  std::unique_ptr<Module> modules[2] = {widened(before_), widened(after_)};
  std::optional<Inputs> wide_inputs = widened(inputs);
  if (!modules[0] || !modules[1] || !wide_inputs) {
    // No wider arithmetic: only what is far apart can't be rounding.
    double apart = std::abs(narrow[0] - narrow[1]);
    return apart <= 1e-3 * std::max(std::abs(narrow[0]), std::abs(narrow[1]));
  }
  for (int side = 0; side < 2; ++side) {
    tl::expected<RunResult, Stop> result = run(*modules[side], *wide_inputs);
    if (!result) return true;
    const HostTensor& output =
        result->outputs[static_cast<size_t>(place.device)][static_cast<size_t>(place.output)];
    wide[side] = decode_float(output.type, element_of(output, place.index).data());
  }
  return is_rounding(narrow, wide);
}

tl::expected<RunResult, Stop> Refuter::run(const Module& module, const Inputs& inputs) const {
  RunOptions options;
  options.max_memory = options_.max_memory;
  options.max_steps = options_.max_steps;
  options.deadline = options_.deadline;
  return simulate(module, options_.mesh, inputs, options);
}

std::optional<OutputPlace> Refuter::difference(const RunResult& before,
                                               const RunResult& after) const {
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

std::optional<OutputPlace> Refuter::differs(const Inputs& inputs, RunResult* results) const {
  auto before = run(before_, inputs);
  if (!before) return std::nullopt;
  auto after = run(after_, inputs);
  if (!after) return std::nullopt;
  std::optional<OutputPlace> found = difference(*before, *after);
  if (results) {
    results[0] = *std::move(before);
    results[1] = *std::move(after);
  }
  return found;
}

Counterexample Refuter::describe(const OutputPlace& place) const {
  Counterexample made;
  const Shape* shape = output_shapes_[static_cast<size_t>(place.output)];
  made.device = place.device;
  made.output = place.output;
  made.index = multi_index(place.index, shape->dims());
  made.output_shape = minihlo::to_string(shape, false);
  return made;
}

// Whether inputs and outputs take at most `bytes`, and half of what a run may take.
bool Refuter::fits(int64_t bytes) const {
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

Inputs Refuter::dense(const SparseInputs& sparse) const {
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
  return inputs;
}

std::optional<Finding> Refuter::at_element(Handle before, Handle after, const OutputPlace& place) {
  Demand demand(terms_, evaluator_);
  std::vector<InputPlace> places;
  for (Handle side : {before, after}) {
    auto own = demand.inputs_of(side, place.index, kMaxDirected);
    if (!own) return std::nullopt;
    places.insert(places.end(), own->begin(), own->end());
  }
  std::ranges::sort(places);
  places.erase(std::unique(places.begin(), places.end()), places.end());

  ElementType type = terms_.node(before).type;
  auto differ = [&](const SparseInputs& inputs, ElementBytes* values) {
    auto a = demand.value(before, place.index, inputs);
    auto b = a ? demand.value(after, place.index, inputs) : std::nullopt;
    if (!a || !b) return false;
    values[0] = *a;
    values[1] = *b;
    return !same_value(type, *a, *b);
  };
  std::mt19937_64 random(options_.seed);
  ElementBytes values[2];
  SparseInputs inputs;
  bool found = false;
  for (SampleKind kind : {SampleKind::kSmall, SampleKind::kBits, SampleKind::kSpecial}) {
    for (int trial = 0; trial < kDirectedTrials && !found; ++trial) {
      for (const InputPlace& input : places) {
        const Shape* shape = parameter_shapes_[static_cast<size_t>(input.parameter)];
        inputs[input] = sample(shape->element_type(), kind, random);
      }
      found = differ(inputs, values);
    }
  }
  if (!found) return std::nullopt;
  // What can be zero is.
  for (const InputPlace& input : places) {
    SparseInputs fewer = inputs;
    fewer.erase(input);
    ElementBytes of_fewer[2];
    if (differ(fewer, of_fewer)) inputs = std::move(fewer);
  }
  differ(inputs, values);

  Finding finding;
  finding.kind = Finding::Kind::kDifference;
  Counterexample& made = finding.counterexample;
  made = describe(place);
  made.replay = "by demand";
  for (int side = 0; side < 2; ++side) made.values[side] = text_of(type, values[side]);
  made.paths[0] = origin(before, place.index);
  made.paths[1] = origin(after, place.index);
  for (const auto& [input, bytes] : inputs) {
    ElementType own = parameter_shapes_[static_cast<size_t>(input.parameter)]->element_type();
    made.inputs.push_back({input.device, input.parameter, input.index, text_of(own, bytes)});
  }
  Inputs whole = fits(kMaxReplayed) ? dense(inputs) : Inputs();
  if (whole.empty()) {
    if (!options_.bits && may_be_rounding(before, after, place.index, inputs, values)) {
      return std::nullopt;
    }
    return finding;
  }
  RunResult results[2];
  if (!differs(whole, results)) return std::nullopt;
  const HostTensor* outputs[2];
  for (int side = 0; side < 2; ++side) {
    outputs[side] =
        &results[side]
             .outputs[static_cast<size_t>(place.device)][static_cast<size_t>(place.output)];
  }
  // The run decides: what was evaluated by demand must be what it gives.
  for (int side = 0; side < 2; ++side) {
    if (!same_value(type, element_of(*outputs[side], place.index), values[side])) {
      return std::nullopt;
    }
  }
  if (!options_.bits && may_be_rounding(whole, place, outputs)) return std::nullopt;
  made.replay = "simulator";
  return finding;
}

std::optional<Inputs> Refuter::random_inputs(int64_t number) const {
  constexpr int64_t kDistinct = 4;  // the first runs
  if (number < kDistinct) {
    auto inputs = make_inputs(before_, options_.mesh, options_.seed + static_cast<uint64_t>(number),
                              options_.max_memory > 0 ? options_.max_memory : default_max_memory());
    if (!inputs) return std::nullopt;
    return *std::move(inputs);
  }
  std::mt19937_64 random(options_.seed * 1000003 + static_cast<uint64_t>(number));
  SampleKind kinds[] = {SampleKind::kNear, SampleKind::kBits, SampleKind::kSpecial,
                        SampleKind::kUniform};
  SampleKind kind = kinds[number % 4];
  Inputs inputs(static_cast<size_t>(options_.mesh.device_count()));
  for (std::vector<HostTensor>& device : inputs) {
    for (const Shape* shape : parameter_shapes_) {
      std::optional<HostTensor> tensor = sample_tensor(shape, kind, random);
      if (!tensor) return std::nullopt;
      device.push_back(*std::move(tensor));
    }
  }
  return inputs;
}

// Inputs on which the modules still differ, zero where that can be: whole tensors first, then
// halves of what is left.
Inputs Refuter::shrunk(Inputs inputs) const {
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
    ++runs;
    if (differs(inputs)) continue;
    tensor = kept;
    if (range.end - range.begin == 1) continue;
    int64_t middle = (range.begin + range.end) / 2;
    pending.push_back({range.device, range.parameter, range.begin, middle});
    pending.push_back({range.device, range.parameter, middle, range.end});
  }
  return inputs;
}

void Refuter::list_inputs(const Inputs& inputs, Counterexample& counterexample) const {
  for (size_t device = 0; device < inputs.size(); ++device) {
    for (size_t parameter = 0; parameter < inputs[device].size(); ++parameter) {
      const HostTensor& tensor = inputs[device][parameter];
      for (int64_t i = 0; i < tensor.element_count(); ++i) {
        ElementBytes bytes = element_of(tensor, i);
        if (is_zero(tensor.type, bytes)) continue;
        counterexample.inputs.push_back({static_cast<int64_t>(device),
                                         static_cast<int64_t>(parameter), i,
                                         text_of(tensor.type, bytes)});
      }
    }
  }
}

Finding Refuter::by_runs(const ModuleTerms* before, const ModuleTerms* after) {
  Finding finding;
  bool rounding = false;
  if (!fits(kMaxRun)) {
    finding.kind = Finding::Kind::kUnsupported;
    finding.what = "size";
    finding.reason = "the modules are too large to be run";
    return finding;
  }
  const auto start = std::chrono::steady_clock::now();
  for (int64_t number = 0; number < options_.tests; ++number) {
    if (number > 0 && std::chrono::steady_clock::now() - start > kRunTime) break;
    std::optional<Inputs> inputs = random_inputs(number);
    if (!inputs) {
      finding.kind = Finding::Kind::kUnsupported;
      finding.what = "inputs";
      finding.reason = "no inputs can be made for the parameters";
      return finding;
    }
    tl::expected<RunResult, Stop> results[2] = {run(before_, *inputs), run(after_, *inputs)};
    auto ends_badly = [](const tl::expected<RunResult, Stop>& result) {
      return !result && result.error().is_of_devices();
    };
    if (ends_badly(results[0]) && ends_badly(results[1])) {
      finding.kind = Finding::Kind::kBothStop;
      finding.reason = results[0].error().message;
      return finding;
    }
    for (int side = 0; side < 2; ++side) {
      if (results[side]) continue;
      if (ends_badly(results[side]) && results[1 - side]) {
        finding.kind = Finding::Kind::kDifference;
        finding.counterexample.report =
            fmt::format("the {} module ends in a {}", side == 0 ? "first" : "second",
                        results[side].error().message);
        finding.counterexample.replay = "simulator";
        if (number > 0) list_inputs(*inputs, finding.counterexample);
        return finding;
      }
      bool cut_short = results[side].error().is_limit();
      finding.kind = cut_short ? Finding::Kind::kCutShort : Finding::Kind::kUnsupported;
      finding.what = results[side].error().what;
      finding.reason = results[side].error().message;
      return finding;
    }
    ++finding.runs;
    std::optional<OutputPlace> place = difference(*results[0], *results[1]);
    if (!place) continue;
    auto output = [&](const RunResult& result) {
      return &result
                  .outputs[static_cast<size_t>(place->device)][static_cast<size_t>(place->output)];
    };
    const HostTensor* outputs[2] = {output(*results[0]), output(*results[1])};
    if (!options_.bits && may_be_rounding(*inputs, *place, outputs)) {
      rounding = true;
      continue;
    }
    // What is shrunk counts if it still differs by more than rounding; else what was found.
    Inputs small = shrunk(*inputs);
    RunResult replayed[2];
    if (std::optional<OutputPlace> smaller = differs(small, replayed)) {
      auto of = [&](int side) {
        return &replayed[side].outputs[static_cast<size_t>(smaller->device)]
                                      [static_cast<size_t>(smaller->output)];
      };
      const HostTensor* of_small[2] = {of(0), of(1)};
      if (options_.bits || !may_be_rounding(small, *smaller, of_small)) {
        place = smaller;
        std::ranges::copy(of_small, outputs);
        *inputs = std::move(small);
      }
    }
    finding.kind = Finding::Kind::kDifference;
    Counterexample& made = finding.counterexample;
    made = describe(*place);
    made.replay = "simulator";
    for (int side = 0; side < 2; ++side) {
      made.values[side] = element_text(*outputs[side], place->index);
      const ModuleTerms* own = side == 0 ? before : after;
      if (!own) continue;
      made.paths[side] = origin(
          own->outputs[static_cast<size_t>(place->output)][static_cast<size_t>(place->device)],
          place->index);
    }
    list_inputs(*inputs, made);
    return finding;
  }
  if (rounding) finding.kind = Finding::Kind::kRounding;
  return finding;
}

}  // namespace minihlo::prove
