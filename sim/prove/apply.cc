// Single instructions on terms.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "ir/semantics/evaluate.h"
#include "ir/semantics/movement.h"
#include "sim/prove/term_domain.h"

namespace minihlo::prove {
namespace {

std::optional<int64_t> known_integer(const Terms& terms, Handle handle) {
  auto value = terms.known_splat(handle);
  if (!value) return std::nullopt;
  return decode_integer(terms.node(handle).type, value->data());
}

// Small literals are moved as they are: tables of devices are read once a device.
std::optional<Handle> moved_literals(Terms& terms, const Instruction& instruction,
                                     std::span<const Handle> operands) {
  constexpr int64_t kMaxBytes = 4096;
  std::vector<std::span<const std::byte>> bytes;
  for (Handle operand : operands) {
    const Node& node = terms.node(operand);
    if (node.kind != NodeKind::kLiteral) return std::nullopt;
    bytes.push_back(node.bytes);
  }
  auto result = evaluate(instruction, bytes, kMaxBytes);
  if (!result) return std::nullopt;
  const Shape* shape = instruction.shape();
  return terms.literal(shape->element_type(), shape->element_count(), *result);
}

// A handle in words of "the same device" as the anchor, where it is seen from that.
Handle relative_to(Handle handle, int32_t anchor) {
  if (handle.device >= 0 && handle.device == anchor) handle.device = Handle::kSame;
  return handle;
}

// The start indices of a dynamic-slice or -update, if they are known. Along an axis that is taken
// whole any start is clamped to 0.
std::optional<std::vector<int64_t>> known_starts(const Terms& terms, const Instruction& instruction,
                                                 std::span<const Handle> operands) {
  std::vector<int64_t> starts;
  size_t first = moved_operand_count(instruction);
  bool as_vector = first < operands.size() && instruction.operand(first)->shape()->rank() == 1;
  if (as_vector) {
    auto bytes = terms.known(operands[first]);
    if (!bytes) return std::nullopt;
    ElementType type = terms.node(operands[first]).type;
    for (size_t at = 0; at < bytes->size(); at += static_cast<size_t>(info(type).bytes)) {
      starts.push_back(decode_integer(type, bytes->data() + at));
    }
    return starts;
  }
  const Shape* whole = instruction.operand(0)->shape();
  const Shape* part = instruction.opcode() == Opcode::kDynamicSlice
                          ? instruction.shape()
                          : instruction.operand(1)->shape();
  for (size_t i = first; i < operands.size(); ++i) {
    const auto axis = static_cast<int64_t>(i - first);
    const bool is_whole = part->dim(axis) == whole->dim(axis);
    const std::optional<int64_t> start = is_whole ? 0 : known_integer(terms, operands[i]);
    if (!start) return std::nullopt;
    starts.push_back(*start);
  }
  return starts;
}

// Whether the instruction does more than compute its result from its operands, or something that
// terms can't tell.
bool is_impure(const Instruction& instruction) {
  switch (instruction.opcode()) {
    case Opcode::kRng:
      return true;
    case Opcode::kCustomCall:
      return instruction.get(attr::custom_call_has_side_effect);
    case Opcode::kBitcast:
    case Opcode::kBitcastConvert:
      // Bytes that are neither 0 nor 1 are no truth values, and rules take every pred for one.
      return instruction.shape()->element_type() == ElementType::PRED &&
             instruction.operand(0)->shape()->element_type() != ElementType::PRED;
    default: {
      Family family = info(instruction.opcode()).family;
      return family == Family::kEffect || family == Family::kAsync;
    }
  }
}

}  // namespace

std::optional<std::vector<int64_t>> TermDomain::known(const Array& array) const {
  std::vector<int64_t> values;
  for (Handle handle : array.kept()) {
    std::optional<int64_t> value = known_integer(terms_, handle);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

TermDomain::Leaves TermDomain::apply(const Instruction& instruction,
                                     std::span<Operand<Array>> operands,
                                     std::span<const int> devices) {
  if (terms_.node_count() > Terms::kMaxTerms) {
    return tl::unexpected(
        Stop{Stop::Kind::kSteps, fmt::format("stopped after {} terms", Terms::kMaxTerms), {}});
  }
  switch (instruction.opcode()) {
    case Opcode::kReplicaId:
    case Opcode::kPartitionId: {
      tl::expected<Array, Stop> value = ids(instruction, devices);
      if (!value) return tl::unexpected(std::move(value.error()));
      return std::vector<Array>{*std::move(value)};
    }
    case Opcode::kConstant: {
      std::vector<Array> leaves;
      for (Handle handle : constant(*instruction.get(attr::literal_value))) {
        leaves.emplace_back(handle);
      }
      return leaves;
    }
    case Opcode::kRngGetAndUpdateState: {
      tl::expected<Array, Stop> value = random_states(instruction, devices);
      if (!value) return tl::unexpected(std::move(value.error()));
      return std::vector<Array>{*std::move(value)};
    }
    default:
      break;
  }
  if (is_impure(instruction) || instruction.has_dynamic_shape()) {
    std::string what = instruction.has_dynamic_shape()
                           ? "dynamic shapes"
                           : std::string(to_string(instruction.opcode()));
    return tl::unexpected(Stop::unsupported(
        what, fmt::format("{} is not understood by the prover", instruction_place(instruction))));
  }
  return on_each_device(operands, devices.size(), [&](std::span<const Handle> handles) {
    return apply_once(instruction, handles);
  });
}

// What is the same in words of "the same device" is worked out once.
TermDomain::Leaves TermDomain::on_each_device(std::span<Operand<Array>> operands,
                                              size_t device_count, const OnDevice& function) {
  bool uniform = std::ranges::all_of(operands, [](const Operand<Array>& operand) {
    return !operand.array->is_set() || operand.array->is_uniform();
  });
  size_t positions = uniform ? 1 : device_count;
  // What was made on one device: operands and results in words of "the same device".
  struct Made {
    std::vector<Handle> operands, results;
  };
  std::unordered_multimap<size_t, Made> done;
  std::vector<std::vector<Handle>> by_leaf;
  std::vector<Handle> handles, relative;
  for (size_t position = 0; position < positions; ++position) {
    handles.clear();
    relative.clear();
    int32_t anchor = Handle::kNoDevice;
    size_t hash = 0;
    for (const Operand<Array>& operand : operands) {
      if (!operand.array->is_set()) continue;  // a token
      Handle handle = (*operand.array)[position];
      handles.push_back(handle);
      if (anchor < 0) anchor = handle.device;
      relative.push_back(relative_to(handle, anchor));
      hash = mix(hash, relative.back());
    }
    auto [first, last] = done.equal_range(hash);
    auto found = std::find_if(first, last,
                              [&](const auto& made) { return made.second.operands == relative; });
    std::vector<Handle> results;
    if (found != last) {
      for (Handle one : found->second.results) results.push_back(Terms::resolve(one, anchor));
    } else {
      Handles made = function(handles);
      if (!made) return tl::unexpected(std::move(made.error()));
      results = *std::move(made);
      if (position + 1 < positions) {
        Made kept{relative, {}};
        for (Handle result : results) kept.results.push_back(relative_to(result, anchor));
        // A result that is seen from another device may name this one by number.
        bool keep = std::ranges::all_of(kept.results, [](Handle one) { return one.device < 0; });
        if (keep) done.emplace(hash, std::move(kept));
      }
    }
    by_leaf.resize(results.size());
    for (size_t leaf = 0; leaf < results.size(); ++leaf) by_leaf[leaf].push_back(results[leaf]);
  }
  std::vector<Array> leaves;
  for (std::vector<Handle>& values : by_leaf) leaves.emplace_back(std::move(values));
  return leaves;
}

TermDomain::Handles TermDomain::apply_once(const Instruction& instruction,
                                           std::span<const Handle> operands) {
  if (instruction.opcode() == Opcode::kIota) return std::vector<Handle>{iota(instruction)};
  if (is_movement(instruction)) {
    if (std::optional<Handle> result = moved(instruction, operands)) {
      return std::vector<Handle>{*result};
    }
  }
  if (info(instruction.opcode()).family == Family::kElementwise) {
    tl::expected<std::optional<Handle>, Stop> result = pointwise(instruction, operands);
    if (!result) return tl::unexpected(std::move(result.error()));
    if (*result) return std::vector<Handle>{**result};
  }
  if (std::optional<Handle> sum = exact_sum(instruction, operands))
    return std::vector<Handle>{*sum};
  if (std::optional<Handle> same = bit_cast(instruction, operands)) {
    return std::vector<Handle>{*same};
  }
  return opaque(instruction, operands);
}

// A bitcast-convert between types of one width works element by element.
std::optional<Handle> TermDomain::bit_cast(const Instruction& instruction,
                                           std::span<const Handle> operands) {
  if (instruction.opcode() != Opcode::kBitcastConvert || terms_.known(operands[0])) {
    return std::nullopt;
  }
  const ElementType from = instruction.operand(0)->shape()->element_type();
  const ElementType to = instruction.shape()->element_type();
  // Narrower ones are stored with or without their sign.
  if (info(from).bits != info(to).bits || info(from).bits < 8 || from == ElementType::PRED) {
    return std::nullopt;
  }
  const PointFunction function{
      rules_.functions().elementwise({Opcode::kBitcastConvert, std::span(&from, 1), to, {}}), to};
  return apply_pointwise(terms_, rules_, function, operands, instruction.shape()->element_count());
}

tl::expected<TermDomain::Array, Stop> TermDomain::ids(const Instruction& instruction,
                                                      std::span<const int> devices) {
  if (region_depth_ > 0) {
    return tl::unexpected(
        Stop::unsupported(std::string(to_string(instruction.opcode())),
                          fmt::format("{} in a computation that is called on elements",
                                      instruction_place(instruction))));
  }
  std::vector<Handle> values;
  for (int device : devices) {
    auto id =
        static_cast<uint32_t>(instruction.opcode() == Opcode::kReplicaId ? mesh_.replica(device)
                                                                         : mesh_.partition(device));
    values.push_back(terms_.literal(ElementType::U32, 1, std::as_bytes(std::span(&id, 1))));
  }
  return Array(std::move(values));
}

// The state that a device starts with, which is any, and what was added to it since.
tl::expected<TermDomain::Array, Stop> TermDomain::random_states(const Instruction& instruction,
                                                                std::span<const int> devices) {
  ++random_states_taken_;
  const Shape* shape = instruction.shape();
  if (region_depth_ > 0 || level_ > 0 || shape->element_type() != ElementType::U64 ||
      shape->element_count() != 2) {
    return tl::unexpected(Stop::unsupported(
        std::string(to_string(instruction.opcode())),
        fmt::format("{} is not understood by the prover {}", instruction_place(instruction),
                    region_depth_ > 0 || level_ > 0 ? "where it may run many times"
                                                    : "with another shape than u64[2]")));
  }
  random_states_.resize(static_cast<size_t>(mesh_.device_count()));
  std::vector<Handle> values;
  for (int device : devices) {
    const Handle start =
        terms_.placeholder(kRandomLevel, 0, device, ElementType::U64, shape->element_count());
    auto& [low, high] = random_states_[static_cast<size_t>(device)];
    const uint32_t later = terms_.signature(fmt::format("random state after {} {}", high, low));
    const bool is_first = low == 0 && high == 0;
    values.push_back(is_first ? start
                              : terms_.apply(later, 0, ElementType::U64, shape->element_count(),
                                             std::span(&start, 1)));
    const auto delta = static_cast<uint64_t>(instruction.get(attr::delta));
    low += delta;
    if (low < delta) ++high;
  }
  assumptions_.insert("random states are the same at the start");
  return Array(std::move(values));
}

std::vector<Handle> TermDomain::constant(const Literal& literal) {
  const Shape* shape = literal.shape;
  switch (literal.form) {
    case Literal::Form::kTuple: {
      std::vector<Handle> leaves;
      for (const Literal* element : literal.elements) {
        std::vector<Handle> own = constant(*element);
        leaves.insert(leaves.end(), own.begin(), own.end());
      }
      return leaves;
    }
    case Literal::Form::kElided:
      return {terms_.elided(&literal, shape->element_type(), shape->element_count())};
    case Literal::Form::kSplat:
      return {terms_.splat(terms_.literal(shape->element_type(), 1, literal.bytes),
                           shape->element_count())};
    case Literal::Form::kDense:
      break;
  }
  return {terms_.literal(shape->element_type(), shape->element_count(), literal.bytes)};
}

// 0, 1, 2, ... along one dimension, broadcast along the others.
Handle TermDomain::iota(const Instruction& instruction) {
  const Shape* shape = instruction.shape();
  int64_t axis = instruction.get(attr::iota_dimension);
  int64_t size = shape->dim(axis);
  Handle row;
  ElementType from = ElementType::S64;
  auto convert = elementwise_op({Opcode::kConvert, std::span(&from, 1), shape->element_type(), {}});
  if (size <= Terms::kMaxKnown && convert) {
    std::vector<int64_t> indices(static_cast<size_t>(size));
    std::iota(indices.begin(), indices.end(), int64_t{0});
    std::vector<std::byte> bytes(indices.size() *
                                 static_cast<size_t>(info(shape->element_type()).bytes));
    const std::byte* operand = reinterpret_cast<const std::byte*>(indices.data());
    const int64_t step = 1;
    (*convert)(size, &operand, &step, bytes.data());
    row = terms_.literal(shape->element_type(), size, bytes);
  } else {
    uint32_t name = terms_.signature(fmt::format("iota {}", size));
    row = terms_.apply(name, 0, shape->element_type(), size, {});
  }
  Movement movement;
  movement.result_dims.assign(shape->dims().begin(), shape->dims().end());
  movement.operand_dims = {{size}};
  Box box;
  for (int64_t dim : shape->dims()) box.axes.push_back({0, dim, 1, -1, 0});
  box.axes[static_cast<size_t>(axis)].operand_axis = 0;
  box.axes[static_cast<size_t>(axis)].stride = 1;
  box.base = {0};
  movement.boxes.push_back(std::move(box));
  return move(movement, std::span(&row, 1), shape->element_type()).value_or(row);
}

std::optional<Handle> TermDomain::moved(const Instruction& instruction,
                                        std::span<const Handle> operands) {
  // Terms are rows of elements: dimensions are nothing to them.
  if (instruction.opcode() == Opcode::kReshape && !instruction.has_dynamic_shape()) {
    return operands[0];
  }
  MovementFacts facts;
  if (moved_operand_count(instruction) < operands.size()) {
    std::optional<std::vector<int64_t>> starts = known_starts(terms_, instruction, operands);
    if (!starts) return std::nullopt;
    facts.starts = *std::move(starts);
  }
  if (std::optional<Handle> result = moved_literals(terms_, instruction, operands)) return result;
  auto steps = movement(instruction, facts);
  if (!steps) return std::nullopt;
  std::vector<Handle> current(operands.begin(), operands.end());
  for (const Movement& step : *steps) {
    std::optional<Handle> result = move(step, current, instruction.shape()->element_type());
    if (!result) return std::nullopt;
    current = {*result};
  }
  return current[0];
}

std::optional<Handle> TermDomain::move(const Movement& movement, std::span<const Handle> operands,
                                       ElementType type) {
  auto operand_of = [&](const Box& box) {
    return operands[static_cast<size_t>(box.operand) + static_cast<size_t>(box.member)];
  };
  if (movement.is_identity()) return operand_of(movement.boxes[0]);
  std::vector<PlacedTensor> parts;
  for (const Box& box : movement.boxes) {
    if (box.is_empty()) continue;
    if (box.operand == Box::kZero) {
      parts.push_back(filled(terms_.zero(type), box));
      continue;
    }
    Handle operand = operand_of(box);
    const View* seen = terms_.view(operand, movement.dims_of(box));
    if (!seen) return std::nullopt;
    std::optional<PlacedTensor> part = extract(*seen, box);
    if (!part) return std::nullopt;
    for (Piece& piece : part->pieces) {
      piece.source = Terms::resolve(piece.source, operand.device);
    }
    parts.push_back(*std::move(part));
  }
  std::optional<Tensor> result = assemble(movement.result_dims, std::move(parts));
  if (!result) return std::nullopt;
  return terms_.assembled(type, *std::move(result));
}

tl::expected<std::optional<Handle>, Stop> TermDomain::pointwise(const Instruction& instruction,
                                                                std::span<const Handle> operands) {
  const Shape* shape = instruction.shape();
  if (instruction.opcode() == Opcode::kSelect) {
    std::optional<Handle> chosen =
        select_by_known_mask(terms_, operands[0], operands[1], operands[2], shape->dims());
    if (chosen) {
      rules_.use("select-known");
      return chosen;
    }
  }
  auto function = point_function(instruction);
  if (!function) return tl::unexpected(std::move(function.error()));
  if (!*function) return std::optional<Handle>();
  // Scalars stand for every element (clamp's bounds, select's predicate).
  std::vector<Handle> arguments(operands.begin(), operands.end());
  for (Handle& argument : arguments) {
    if (terms_.node(argument).count != shape->element_count()) {
      argument = terms_.splat(argument, shape->element_count());
    }
  }
  return std::optional(
      apply_pointwise(terms_, rules_, **function, arguments, shape->element_count()));
}

tl::expected<std::optional<PointFunction>, Stop> TermDomain::point_function(
    const Instruction& instruction) {
  tl::expected<uint32_t, Stop> name = signature(instruction);
  if (!name) return tl::unexpected(std::move(name.error()));
  if (!terms_.signature(*name).op) return std::optional<PointFunction>();
  PointFunction function;
  function.signature = *name;
  function.type = instruction.shape()->element_type();
  return function;
}

TermDomain::Handles TermDomain::opaque(const Instruction& instruction,
                                       std::span<const Handle> operands) {
  std::vector<const Shape*> shapes = leaf_shapes(instruction.shape());
  if (instruction.opcode() != Opcode::kCustomCall) {
    std::vector<std::vector<std::byte>> values;
    for (Handle operand : operands) {
      auto value = terms_.known(operand);
      if (!value) break;
      values.push_back(*std::move(value));
    }
    bool small = std::ranges::all_of(shapes, [](const Shape* shape) {
      return shape->is_array() && shape->element_count() <= Terms::kMaxKnown;
    });
    if (small && values.size() == operands.size()) {
      if (auto results = evaluator_.evaluate(instruction, values)) {
        std::vector<Handle> handles;
        for (size_t i = 0; i < shapes.size(); ++i) {
          handles.push_back(
              terms_.literal(shapes[i]->element_type(), shapes[i]->element_count(), (*results)[i]));
        }
        return handles;
      }
    }
  }
  tl::expected<uint32_t, Stop> name = signature(instruction);
  if (!name) return tl::unexpected(std::move(name.error()));
  std::vector<Handle> handles;
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i]->is_array()) {
      return tl::unexpected(Stop::unsupported(
          std::string(to_string(instruction.opcode())),
          fmt::format("{} has a result that is no array", instruction_place(instruction))));
    }
    handles.push_back(terms_.apply(*name, static_cast<int64_t>(i), shapes[i]->element_type(),
                                   shapes[i]->element_count(), operands));
  }
  return handles;
}

}  // namespace minihlo::prove
