// Elements that indices choose which are not known: of dynamic-slice and gather.
//
// An element is named by the tensor and by its index in it, a sum of 64-bit terms. What works
// element by element is looked through, and so are slices of slices and what was just put there.
#include <algorithm>

#include "ir/row_major.h"
#include "sim/prove/constants.h"
#include "sim/prove/element_terms.h"

namespace minihlo::prove {
namespace {

constexpr int kMaxDepth = 32;       // of tensors within each other
constexpr int kMaxPicks = 1 << 16;  // of all elements

bool contains(std::span<const int64_t> list, int64_t value) {
  return std::ranges::find(list, value) != list.end();
}

// How an element of a gather depends on where its window starts.
struct Gathered {
  std::vector<int64_t> offset;  // in the operand, from the start on
  std::vector<int64_t> limits;  // of starts
  std::vector<int64_t> index;   // in the start indices, but along the index vector
};

Gathered gathered(const Instruction& gather, int64_t element) {
  const Shape* operand = gather.operand(0)->shape();
  const std::vector<int64_t> at = multi_index(element, gather.shape()->dims());
  std::span<const int64_t> sizes = gather.get(attr::slice_sizes);
  std::span<const int64_t> offset_dims = gather.get(attr::offset_dims);
  std::span<const int64_t> collapsed = gather.get(attr::collapsed_slice_dims);
  std::span<const int64_t> batching = gather.get(attr::operand_batching_dims);
  Gathered made;
  size_t next = 0;
  for (size_t dim = 0; dim < sizes.size(); ++dim) {
    const auto number = static_cast<int64_t>(dim);
    made.limits.push_back(operand->dim(number) - sizes[dim]);
    const bool is_left = !contains(collapsed, number) && !contains(batching, number);
    made.offset.push_back(is_left ? at[static_cast<size_t>(offset_dims[next++])] : 0);
  }
  for (size_t dim = 0; dim < at.size(); ++dim) {
    if (!contains(offset_dims, static_cast<int64_t>(dim))) made.index.push_back(at[dim]);
  }
  return made;
}

}  // namespace

TermStore::Ref ElementTerms::number(int64_t value) {
  return constant(ElementType::S64,
                  integer_constant(ElementType::S64, static_cast<uint64_t>(value)).span());
}

// A start index clamped to where a slice fits in.
TermStore::Ref ElementTerms::start(Ref given, ElementType type, int64_t limit) {
  if (limit == 0) return number(0);
  Functions& functions = rules_.functions();
  if (type == ElementType::U64) {  // not all of which are 64-bit numbers with a sign
    given = rules_.normal(
        functions.exact_fold(Opcode::kMinimum, type),
        {given, constant(type, integer_constant(type, static_cast<uint64_t>(limit)).span())},
        *this);
  }
  if (type != ElementType::S64) {
    given = rules_.normal(functions.of(Opcode::kConvert, type, ElementType::S64), {given}, *this);
  }
  const Ref low = rules_.normal(functions.exact_fold(Opcode::kMaximum, ElementType::S64),
                                {given, number(0)}, *this);
  return rules_.normal(functions.exact_fold(Opcode::kMinimum, ElementType::S64),
                       {low, number(limit)}, *this);
}

bool ElementTerms::pick_parts(const Element& wanted, const Instruction& instruction,
                              std::vector<Element>& elements, Key& key) {
  const Opcode opcode = instruction.opcode();
  if (opcode != Opcode::kDynamicSlice && opcode != Opcode::kGather) return false;
  const std::vector<Handle> arguments = terms_.arguments(wanted.tensor);
  key.what = terms_.node(wanted.tensor).signature;
  if (opcode == Opcode::kDynamicSlice) {
    for (size_t i = 1; i < arguments.size(); ++i) {
      for (int64_t k = 0; k < terms_.node(arguments[i]).count; ++k) {
        elements.push_back({arguments[i], k});
      }
    }
    return true;
  }
  const Shape* indices = instruction.operand(1)->shape();
  const int64_t vector_dim = instruction.get(attr::index_vector_dim);
  std::vector<int64_t> index = gathered(instruction, wanted.index).index;
  const bool has_vector = vector_dim < indices->rank();
  if (has_vector) index.insert(index.begin() + vector_dim, 0);
  const auto count = static_cast<int64_t>(instruction.get(attr::start_index_map).size());
  for (int64_t k = 0; k < count; ++k) {
    if (has_vector) index[static_cast<size_t>(vector_dim)] = k;
    elements.push_back({arguments[1], linear_index(index, indices->dims())});
  }
  return true;
}

uint32_t ElementTerms::picked(const Element& wanted, const Instruction& instruction,
                              const Key& starts) {
  const Shape* operand = instruction.operand(0)->shape();
  std::vector<Ref> index;
  const uint32_t add = rules_.functions().exact_fold(Opcode::kAdd, ElementType::S64);
  const ElementType type = instruction.operand(1)->shape()->element_type();
  if (instruction.opcode() == Opcode::kDynamicSlice) {
    const std::vector<int64_t> at = multi_index(wanted.index, instruction.shape()->dims());
    for (size_t dim = 0; dim < at.size(); ++dim) {
      const auto axis = static_cast<int64_t>(dim);
      const Ref first =
          start(starts.arguments[dim], type, operand->dim(axis) - instruction.shape()->dim(axis));
      index.push_back(rules_.normal(add, {first, number(at[dim])}, *this));
    }
  } else {
    const Gathered own = gathered(instruction, wanted.index);
    std::span<const int64_t> map = instruction.get(attr::start_index_map);
    std::span<const int64_t> batching = instruction.get(attr::operand_batching_dims);
    std::span<const int64_t> of_indices = instruction.get(attr::start_indices_batching_dims);
    const int64_t vector_dim = instruction.get(attr::index_vector_dim);
    for (size_t dim = 0; dim < own.offset.size(); ++dim) {
      const auto axis = static_cast<int64_t>(dim);
      Ref first = number(0);
      if (const auto k = std::ranges::find(map, axis); k != map.end()) {
        first =
            start(starts.arguments[static_cast<size_t>(k - map.begin())], type, own.limits[dim]);
      } else if (const auto b = std::ranges::find(batching, axis); b != batching.end()) {
        const int64_t at = of_indices[static_cast<size_t>(b - batching.begin())];
        first = number(own.index[static_cast<size_t>(at > vector_dim ? at - 1 : at)]);
      }
      index.push_back(rules_.normal(add, {first, number(own.offset[dim])}, *this));
    }
  }
  const Handle from = terms_.arguments(wanted.tensor)[0];
  if (pick_depth_ < kMaxDepth && ++picks_ < kMaxPicks) {
    ++pick_depth_;
    const std::optional<uint32_t> found = pick(from, operand->dims(), index);
    --pick_depth_;
    if (found) return *found;
  }
  return intern({whole_,
                 {wanted.tensor.node, static_cast<uint32_t>(wanted.tensor.device),
                  static_cast<uint32_t>(wanted.index), static_cast<uint32_t>(wanted.index >> 32)}});
}

// Where a dynamic-slice or -update-slice starts.
std::optional<std::vector<TermStore::Ref>> ElementTerms::starts_of(Handle slice,
                                                                   const Instruction& instruction) {
  const bool is_update = instruction.opcode() == Opcode::kDynamicUpdateSlice;
  const size_t first = is_update ? 2 : 1;
  const std::vector<Handle> arguments = terms_.arguments(slice);
  const Shape* whole = instruction.operand(0)->shape();
  const Shape* part = is_update ? instruction.operand(1)->shape() : instruction.shape();
  std::vector<Ref> starts;
  for (size_t i = first; i < arguments.size(); ++i) {
    const Node& node = terms_.node(arguments[i]);
    for (int64_t k = 0; k < node.count; ++k) {
      const std::optional<uint32_t> given = element(arguments[i], k);
      if (!given) return std::nullopt;
      const auto axis = static_cast<int64_t>(starts.size());
      starts.push_back(start(*given, node.type, whole->dim(axis) - part->dim(axis)));
    }
  }
  return starts;
}

std::optional<uint32_t> ElementTerms::pick(Handle tensor, std::span<const int64_t> dims,
                                           const std::vector<Ref>& index) {
  const uint32_t add = rules_.functions().exact_fold(Opcode::kAdd, ElementType::S64);
  const uint32_t multiply = rules_.functions().exact_fold(Opcode::kMultiply, ElementType::S64);
  const auto sum = [&](Ref a, Ref b) { return rules_.normal(add, {a, b}, *this); };
  const auto known = [&](Ref ref) -> std::optional<int64_t> {
    auto value = literal(ref, ElementType::S64);
    if (!value) return std::nullopt;
    return static_cast<int64_t>(bits_of(ElementType::S64, *value));
  };
  Ref linear = number(0);
  for (size_t dim = 0; dim < dims.size(); ++dim) {
    int64_t stride = 1;
    for (size_t inner = dim + 1; inner < dims.size(); ++inner) stride *= dims[inner];
    linear = sum(linear, rules_.normal(multiply, {index[dim], number(stride)}, *this));
  }
  if (std::optional<int64_t> at = known(linear)) return element(tensor, *at);
  const Node& node = terms_.node(tensor);
  if (auto value = terms_.known_splat(tensor)) {
    return static_cast<uint32_t>(constant(node.type, *value));
  }
  const bool goes_on = pick_depth_ < kMaxDepth && ++picks_ < kMaxPicks;
  if (goes_on && node.kind == NodeKind::kApply) {
    const Signature& signature = terms_.signature(node.signature);
    const Instruction* made = signature.instruction;
    const auto has_dims = [&] { return std::ranges::equal(made->shape()->dims(), dims); };
    if (signature.kind == Signature::Kind::kPointwise || signature.kind == Signature::Kind::kFold) {
      std::vector<Ref> refs;
      ++pick_depth_;
      for (Handle argument : terms_.arguments(tensor)) {
        const std::optional<uint32_t> own =
            terms_.node(argument).count == 1 ? element(argument, 0) : pick(argument, dims, index);
        if (!own) break;
        refs.push_back(*own);
      }
      --pick_depth_;
      if (refs.size() != terms_.arguments(tensor).size()) return std::nullopt;
      return applied(node, std::move(refs));
    }
    if (made && made->opcode() == Opcode::kDynamicSlice && has_dims()) {
      ++pick_depth_;
      const std::optional<std::vector<Ref>> starts = starts_of(tensor, *made);
      std::vector<Ref> own;
      for (size_t dim = 0; starts && dim < dims.size(); ++dim) {
        own.push_back(sum((*starts)[dim], index[dim]));
      }
      std::optional<uint32_t> found;
      if (starts) {
        found = pick(terms_.arguments(tensor)[0], made->operand(0)->shape()->dims(), own);
      }
      --pick_depth_;
      return found;
    }
    if (made && made->opcode() == Opcode::kDynamicUpdateSlice && has_dims()) {
      ++pick_depth_;
      const std::optional<std::vector<Ref>> starts = starts_of(tensor, *made);
      --pick_depth_;
      std::span<const int64_t> part = made->operand(1)->shape()->dims();
      std::vector<int64_t> inside;
      for (size_t dim = 0; starts && dim < dims.size(); ++dim) {
        const Ref back = rules_.normal(multiply, {(*starts)[dim], number(-1)}, *this);
        const std::optional<int64_t> at = known(sum(index[dim], back));
        if (at && *at >= 0 && *at < part[dim]) inside.push_back(*at);
      }
      if (inside.size() == dims.size()) {
        return element(terms_.arguments(tensor)[1], linear_index(inside, part));
      }
    }
  }
  const uint32_t all = intern({tensor_, {tensor.node, static_cast<uint32_t>(tensor.device)}});
  const Ref both[] = {all, linear};
  return static_cast<uint32_t>(make(terms_.signature("element at"), both));
}

}  // namespace minihlo::prove
