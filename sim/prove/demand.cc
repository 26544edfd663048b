#include "sim/prove/demand.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <unordered_set>

#include "ir/numbers.h"
#include "ir/semantics/elementwise.h"

namespace minihlo::prove {
namespace {

constexpr size_t kMaxElements = size_t{1} << 20;  // evaluated at the same time
constexpr int64_t kMaxWhole = int64_t{1} << 16;   // elements of the arguments of an opaque term

size_t width_of(ElementType type) { return static_cast<size_t>(info(type).bytes); }

}  // namespace

bool Demand::parts(const Element& wanted, std::vector<Element>& elements) const {
  const Node& node = terms_.node(wanted.tensor);
  switch (node.kind) {
    case NodeKind::kParameter:
    case NodeKind::kLiteral:
      return true;
    case NodeKind::kPlaceholder:
    case NodeKind::kElided:
      return false;
    case NodeKind::kAssembled:
      elements.push_back(terms_.source_of(wanted));
      return true;
    case NodeKind::kApply:
      break;
  }
  const Signature& signature = terms_.signature(node.signature);
  const bool whole = signature.kind == Signature::Kind::kOpaque;
  if (!signature.instruction && (whole || !signature.opcode)) return false;
  int64_t total = 0;
  for (Handle argument : terms_.arguments(wanted.tensor)) {
    int64_t count = terms_.node(argument).count;
    if (!whole) {
      elements.push_back({argument, count == 1 ? 0 : wanted.index});
      continue;
    }
    total += count;
    if (total > kMaxWhole) return false;
    for (int64_t i = 0; i < count; ++i) elements.push_back({argument, i});
  }
  return true;
}

std::optional<ElementBytes> Demand::value(Handle tensor, int64_t index,
                                          const SparseInputs& inputs) {
  inputs_ = &inputs;
  done_.clear();
  std::vector<Element> pending{{tensor, index}};
  std::vector<Element> elements;
  while (!pending.empty()) {
    if (pending.size() > kMaxElements || done_.size() > kMaxElements) return std::nullopt;
    Element wanted = pending.back();
    if (done_.contains(wanted)) {
      pending.pop_back();
      continue;
    }
    elements.clear();
    if (!parts(wanted, elements)) return std::nullopt;
    size_t before = pending.size();
    for (const Element& element : elements) {
      if (!done_.contains(element)) pending.push_back(element);
    }
    if (pending.size() > before) continue;
    pending.pop_back();
    if (!compute(wanted, elements)) return std::nullopt;
  }
  return done_.at({tensor, index});
}

bool Demand::compute(const Element& wanted, std::span<const Element> elements) {
  const Node& node = terms_.node(wanted.tensor);
  ElementBytes bytes{};
  switch (node.kind) {
    case NodeKind::kParameter: {
      auto given = inputs_->find({wanted.tensor.device, node.number, wanted.index});
      if (given != inputs_->end()) bytes = given->second;
      widen(node.type, bytes, false);
      break;
    }
    case NodeKind::kLiteral:
      std::ranges::copy(terms_.bytes_of(node, wanted.index), bytes.begin());
      widen(node.type, bytes, true);
      break;
    case NodeKind::kAssembled:
      bytes = done_.at(elements[0]);
      break;
    default:
      return terms_.signature(node.signature).kind == Signature::Kind::kOpaque
                 ? compute_whole(wanted, elements)
                 : compute_pointwise(wanted, elements);
  }
  done_.emplace(wanted, bytes);
  return true;
}

void Demand::widen(ElementType type, ElementBytes& bytes, bool constant) const {
  if (!wide_ || !is_widened(type)) return;
  double value = decode_float(type, bytes.data());
  if (constant) value = wide_->constant(type, value);
  std::memcpy(bytes.data(), &value, sizeof(value));
}

ElementType Demand::computed_type(ElementType type) const {
  return wide_ && is_widened(type) ? ElementType::F64 : type;
}

// The opcode on the types that it is computed in.
tl::expected<ElementwiseOp, std::string> Demand::op_of(
    Opcode opcode, std::span<const ElementType> operands, ElementType result,
    std::span<const Attribute> attributes) const {
  std::vector<ElementType> types;
  for (ElementType type : operands) types.push_back(computed_type(type));
  return elementwise_op({opcode, types, computed_type(result), attributes});
}

bool Demand::compute_pointwise(const Element& wanted, std::span<const Element> elements) {
  const Node& node = terms_.node(wanted.tensor);
  const Signature& signature = terms_.signature(node.signature);
  alignas(16) std::array<ElementBytes, 1> result{};
  alignas(16) std::vector<ElementBytes> values;
  for (const Element& element : elements) values.push_back(done_.at(element));
  if (signature.kind == Signature::Kind::kPointwise) {
    std::vector<ElementType> types;
    for (const Element& element : elements) types.push_back(terms_.node(element.tensor).type);
    const Opcode opcode = *signature.opcode;
    if (opcode == Opcode::kBitcastConvert) {
      if (computed_type(types[0]) != types[0] || computed_type(node.type) != node.type)
        return false;
      done_.emplace(wanted, values[0]);
      return true;
    }
    auto op = op_of(opcode, types, node.type, signature.attributes);
    if (!op || values.size() != static_cast<size_t>(op->operand_count())) return false;
    std::vector<const std::byte*> data;
    std::vector<int64_t> steps(values.size(), 0);
    for (const ElementBytes& value : values) data.push_back(value.data());
    (*op)(1, data.data(), steps.data(), result[0].data());
    if (opcode == Opcode::kConvert && computed_type(node.type) != node.type) {
      double value;
      std::memcpy(&value, result[0].data(), sizeof(value));
      value = wide_->converted(value, types[0], node.type);
      std::memcpy(result[0].data(), &value, sizeof(value));
    }
  } else if (signature.opcode || computed_type(node.type) != node.type) {
    const std::optional<Opcode> opcode = signature.opcode ? signature.opcode : signature.folds;
    if (!opcode) return false;
    const ElementType types[] = {node.type, node.type};
    auto op = op_of(*opcode, types, node.type, {});
    if (!op) return false;
    result[0] = values[0];
    for (size_t i = 1; i < values.size(); ++i) {
      const std::byte* data[] = {result[0].data(), values[i].data()};
      const int64_t steps[] = {0, 0};
      ElementBytes sum{};
      (*op)(1, data, steps, sum.data());
      result[0] = sum;
    }
  } else {
    const ScalarProgram* program = evaluator_.program(*signature.instruction->get(attr::to_apply));
    if (!program) return false;
    result[0] = values[0];
    for (size_t i = 1; i < values.size(); ++i) {
      const std::byte* parameters[] = {result[0].data(), values[i].data()};
      const int64_t steps[] = {1, 1};
      ElementBytes sum{};
      std::byte* results[] = {sum.data()};
      program->run(1, parameters, steps, results);
      result[0] = sum;
    }
  }
  done_.emplace(wanted, result[0]);
  return true;
}

bool Demand::compute_whole(const Element& wanted, std::span<const Element> elements) {
  const Node& node = terms_.node(wanted.tensor);
  const Signature& signature = terms_.signature(node.signature);
  bool widens = computed_type(node.type) != node.type;
  for (Handle argument : terms_.arguments(wanted.tensor)) {
    ElementType type = terms_.node(argument).type;
    widens = widens || computed_type(type) != type;
  }
  if (widens) return false;
  std::vector<std::vector<std::byte>> operands;
  size_t next = 0;
  for (Handle argument : terms_.arguments(wanted.tensor)) {
    const Node& from = terms_.node(argument);
    size_t width = width_of(from.type);
    std::vector<std::byte>& bytes = operands.emplace_back(static_cast<size_t>(from.count) * width);
    for (int64_t i = 0; i < from.count; ++i) {
      std::memcpy(bytes.data() + static_cast<size_t>(i) * width, done_.at(elements[next++]).data(),
                  width);
    }
  }
  auto results = evaluator_.evaluate(*signature.instruction, operands);
  if (!results) return false;
  const std::vector<std::byte>& own = (*results)[static_cast<size_t>(node.number)];
  size_t width = width_of(node.type);
  for (int64_t i = 0; i < node.count; ++i) {
    ElementBytes bytes{};
    std::memcpy(bytes.data(), own.data() + static_cast<size_t>(i) * width, width);
    done_.emplace(Element{wanted.tensor, i}, bytes);
  }
  return true;
}

std::optional<std::vector<InputPlace>> Demand::inputs_of(Handle tensor, int64_t index,
                                                         size_t limit) {
  std::unordered_set<Element, ElementHash> seen;
  std::set<InputPlace> found;
  std::vector<Element> pending{{tensor, index}};
  while (!pending.empty()) {
    Element wanted = pending.back();
    pending.pop_back();
    if (!seen.insert(wanted).second) continue;
    if (seen.size() > kMaxElements) return std::nullopt;
    const Node& node = terms_.node(wanted.tensor);
    if (node.kind == NodeKind::kParameter) {
      found.insert({wanted.tensor.device, node.number, wanted.index});
      if (found.size() > limit) return std::nullopt;
      continue;
    }
    if (!parts(wanted, pending)) return std::nullopt;
  }
  return std::vector<InputPlace>(found.begin(), found.end());
}

}  // namespace minihlo::prove
