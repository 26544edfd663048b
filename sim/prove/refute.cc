#include "sim/prove/refute.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <unordered_map>

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
constexpr size_t kMostTrials = 144;   // at most, of few elements: rare values have to meet
constexpr int kMaxRounded = 4;        // trials whose difference may be rounding
// Bytes of inputs and outputs up to which a counterexample is replayed by a run: beyond it, where a
// run takes seconds, evaluation by demand takes none. Random runs have nothing else to go by.
constexpr int64_t kMaxReplayed = int64_t{64} << 20;
constexpr int64_t kMaxRun = int64_t{1} << 30;
// Random runs end after this time, whatever their number.
constexpr std::chrono::seconds kRunTime{30};

std::string text_of(ElementType type, const ElementBytes& bytes) {
  return element_text(one_element(type, bytes), 0);
}

bool is_zero(ElementType type, const ElementBytes& bytes) {
  return std::ranges::all_of(std::span(bytes).first(static_cast<size_t>(info(type).bytes)),
                             [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

Refuter::Refuter(const Module& before, const Module& after, const EquivalenceOptions& options,
                 Terms& terms, Evaluator& evaluator)
    : pair_(before, after, options), options_(options), terms_(terms), evaluator_(evaluator) {
  for (const Module* module : {&before, &after}) {
    for (const Computation* computation : module->computations()) {
      for (const Instruction* instruction : computation->instructions())
        add_constants(*instruction);
    }
  }
  for (const Instruction* parameter : before.entry()->parameters()) {
    std::vector<const Shape*> leaves = leaf_shapes(parameter->shape());
    for (size_t i = 0; i < leaves.size(); ++i) {
      if (!leaves[i]->is_array()) continue;
      std::string name = fmt::format("parameter {} (%{})", parameter->get(attr::parameter_number),
                                     parameter->name());
      if (leaves.size() > 1) name += fmt::format(" leaf {}", i);
      parameter_names_.push_back(std::move(name));
    }
  }
}

// Values at which a comparison may turn, among others.
void Refuter::add_constants(const Instruction& instruction) {
  constexpr size_t kMost = 256;      // of a type
  constexpr size_t kMostOfOne = 16;  // elements
  if (instruction.opcode() != Opcode::kConstant || !instruction.shape()->is_array()) return;
  const Literal& literal = *instruction.get(attr::literal_value);
  const ElementType type = instruction.shape()->element_type();
  const auto width = static_cast<size_t>(info(type).bytes);
  std::vector<ElementBytes>& own = constants_[type];
  const size_t count = std::min(literal.bytes.size() / width, kMostOfOne);
  for (size_t i = 0; i < count && own.size() < kMost; ++i) {
    ElementBytes value{};
    std::ranges::copy(literal.bytes.subspan(i * width, width), value.begin());
    if (std::ranges::find(own, value) == own.end()) own.push_back(value);
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
                         tensor_index(pair_.parameter_shapes()[leaf], source.index), on_device());
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
      if (signature.opcode) {
        return fmt::format("{} of {} values, element {}{}", minihlo::to_string(*signature.opcode),
                           node.arguments.size(), source.index, on_device());
      }
      return fmt::format("a loop, conditional or collective, element {}", source.index);
    }
    default:
      return "a value that is not known";
  }
}

std::optional<bool> Refuter::may_be_rounding(Handle before, Handle after, int64_t index,
                                             const SparseInputs& inputs,
                                             const ElementBytes (&values)[2]) {
  const ElementType type = terms_.node(before).type;
  if (!pair_.may_round() || (!is_float(type) && !is_complex(type))) return false;
  double largest = 0;
  for (const auto& [input, bytes] : inputs) {
    const Shape* shape = pair_.parameter_shapes()[static_cast<size_t>(input.parameter)];
    largest = larger_magnitude(largest, shape->element_type(), bytes.data());
  }
  const double own = pair_.own_magnitude();
  if (!is_widened(type)) {
    return prove::may_be_rounding(type, {values[0].data(), values[1].data()}, largest, own);
  }
  const double numbers[2] = {decode_float(type, values[0].data()),
                             decode_float(type, values[1].data())};
  auto evaluate = [&](const WideArithmetic& arithmetic) -> std::optional<std::array<double, 2>> {
    Demand demand(terms_, evaluator_, &arithmetic);
    std::array<double, 2> wide;
    for (size_t side = 0; side < 2; ++side) {
      const std::optional<ElementBytes> value =
          demand.value(side == 0 ? before : after, index, inputs);
      if (!value) return std::nullopt;
      std::memcpy(&wide[side], value->data(), sizeof(double));
    }
    return wide;
  };
  return is_rounding(type, numbers, std::max(largest, own), evaluate);
}

Counterexample Refuter::describe(const OutputPlace& place) const {
  Counterexample made;
  const Shape* shape = pair_.output_shapes()[static_cast<size_t>(place.output)];
  made.device = place.device;
  made.output = place.output;
  made.index = multi_index(place.index, shape->dims());
  made.output_shape = minihlo::to_string(shape, false);
  return made;
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
  int rounded = 0;
  for (SampleKind kind : {SampleKind::kSmall, SampleKind::kBits, SampleKind::kSpecial}) {
    int trials = kDirectedTrials;
    if (kind != SampleKind::kSmall) {
      const size_t affordable = 4 * kMaxDirected / std::max<size_t>(places.size(), 1);
      trials = std::max(trials, static_cast<int>(std::min(affordable, kMostTrials)));
    }
    for (int trial = 0; trial < trials && !found; ++trial) {
      if (rounded == kMaxRounded || pair_.is_late()) return std::nullopt;
      // In every other trial of any bits they are about the same in all elements of a type, and in
      // every third one of special values about what constants of the modules are.
      const bool is_close = kind == SampleKind::kBits && trial % 2 == 1;
      const bool is_constant = kind == SampleKind::kSpecial && trial % 3 == 2;
      std::unordered_map<ElementType, ElementBytes> first;
      for (const InputPlace& input : places) {
        const ElementType own =
            pair_.parameter_shapes()[static_cast<size_t>(input.parameter)]->element_type();
        ElementBytes& value = inputs[input];
        const auto known = first.find(own);
        const auto constants = constants_.find(own);
        value = is_close && known != first.end() ? sample_beside(own, known->second, random)
                                                 : sample(own, kind, random);
        if (is_constant && constants != constants_.end() && !constants->second.empty()) {
          const size_t number = random() % constants->second.size();
          value = sample_beside(own, constants->second[number], random);
        }
        first.try_emplace(own, value);
      }
      if (!differ(inputs, values)) continue;
      // Where there is no wider arithmetic, what is close beside large inputs may not be once they
      // are shrunk.
      found = options_.bits || !is_widened(type) ||
              !may_be_rounding(before, after, place.index, inputs, values).value_or(false);
      rounded += !found;
    }
  }
  if (!found) return std::nullopt;
  // What can be zero is.
  for (const InputPlace& input : places) {
    if (pair_.is_late()) break;
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
    ElementType own =
        pair_.parameter_shapes()[static_cast<size_t>(input.parameter)]->element_type();
    made.inputs.push_back({input.device, input.parameter, input.index, text_of(own, bytes)});
  }
  Inputs whole = pair_.fits(kMaxReplayed) ? pair_.dense(inputs) : Inputs();
  if (whole.empty()) {
    if (!options_.bits &&
        may_be_rounding(before, after, place.index, inputs, values).value_or(true)) {
      return std::nullopt;
    }
    return finding;
  }
  RunResult results[2];
  if (!pair_.differ_at(place, whole, results)) return std::nullopt;
  const HostTensor* outputs[2] = {&output_at(results[0], place), &output_at(results[1], place)};
  // The run decides: what was evaluated by demand must be what it gives.
  for (int side = 0; side < 2; ++side) {
    if (!same_value(type, element_of(*outputs[side], place.index), values[side])) {
      return std::nullopt;
    }
  }
  if (!options_.bits && pair_.may_be_rounding(whole, place, outputs)) return std::nullopt;
  made.replay = "simulator";
  return finding;
}

void Refuter::list_inputs(const Inputs& inputs, Counterexample& counterexample) const {
  for (size_t device = 0; device < inputs.size(); ++device) {
    for (size_t parameter = 0; parameter < inputs[device].size(); ++parameter) {
      if (!pair_.owns(device, parameter)) continue;
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
  if (!pair_.fits(kMaxRun)) {
    finding.kind = Finding::Kind::kUnsupported;
    finding.what = "size";
    finding.reason = "the modules are too large to be run";
    return finding;
  }
  auto cut_off = [&](const Stop& stop) {
    finding.kind = stop.is_limit() ? Finding::Kind::kCutShort : Finding::Kind::kUnsupported;
    finding.what = stop.what;
    finding.reason = stop.message;
    return finding;
  };
  const auto start = std::chrono::steady_clock::now();
  for (int64_t number = 0; number < options_.tests; ++number) {
    if (number > 0 && std::chrono::steady_clock::now() - start > kRunTime) break;
    tl::expected<Inputs, Stop> inputs = pair_.random_inputs(number);
    if (!inputs) return cut_off(inputs.error());
    auto results = pair_.run(*inputs);
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
        finding.counterexample.reported = side;
        finding.counterexample.replay = "simulator";
        if (number > 0) list_inputs(*inputs, finding.counterexample);
        return finding;
      }
      return cut_off(results[side].error());
    }
    ++finding.runs;
    std::optional<OutputPlace> place = difference(*results[0], *results[1]);
    if (!place) continue;
    const HostTensor* outputs[2] = {&output_at(*results[0], *place),
                                    &output_at(*results[1], *place)};
    if (!options_.bits && pair_.may_be_rounding(*inputs, *place, outputs)) {
      rounding = true;
      continue;
    }
    // What is shrunk counts if it still differs by more than rounding; else what was found.
    Inputs small = pair_.shrunk(*inputs, *place);
    RunResult replayed[2];
    if (pair_.differ_at(*place, small, replayed)) {
      const HostTensor* of_small[2] = {&output_at(replayed[0], *place),
                                       &output_at(replayed[1], *place)};
      if (options_.bits || !pair_.may_be_rounding(small, *place, of_small)) {
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
