#include <algorithm>

#include <fmt/format.h>

#include "ir/shape_inference.h"
#include "tests/generator/builder.h"

namespace minihlo::generator {
namespace {

// Arrays have no more elements, so that thousands of modules run in seconds.
constexpr int64_t kMaxElements = 400;

// Types that XLA's CPU backend moves and computes without faults (left out: types under a byte,
// which it packs, and float types that it widens).
bool is_for_oracle(ElementType type) {
  return info(type).bits >= 8 && (!is_float(type) || info(type).bits >= 16);
}

// Whether an opcode means something for a type that shape inference takes, as XLA's does.
bool has_meaning(Opcode opcode, ElementType type) {
  switch (opcode) {
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kMulhi:
      return is_integer(type);
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kClamp:
      return !is_complex(type);
    default:
      return true;
  }
}

// Which types an opcode takes, by asking shape inference about scalars.
Types probe(Opcode opcode, size_t operand_count) {
  Module module("probe");
  Computation* entry = module.add_computation("entry");
  Types types;
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    if (!has_meaning(opcode, type)) continue;
    const Attribute number = make_attribute(attr::parameter_number, i);
    Instruction* one = entry->append(Opcode::kParameter, module.keep_name(fmt::format("p{}", i)),
                                     module.shapes().scalar(type), {}, std::span(&number, 1));
    const std::vector<Instruction*> operands(operand_count, one);
    if (infer_shape(module.shapes(), {opcode, operands, {}, nullptr})) types.push_back(type);
  }
  return types;
}

}  // namespace

const Types& Builder::types() {
  static const Types all = [] {
    Types list = {ElementType::F32, ElementType::S32};  // the simplest first
    for (int i = 0; i < kElementTypeCount; ++i) list.push_back(static_cast<ElementType>(i));
    return list;
  }();
  static const Types for_oracle = [] {
    Types list = all;
    std::erase_if(list, [](ElementType type) { return !is_for_oracle(type); });
    return list;
  }();
  return oracle() ? for_oracle : all;
}

Types Builder::types_of(std::initializer_list<ElementKind> kinds) {
  Types list;
  for (ElementType type : types()) {
    if (std::find(kinds.begin(), kinds.end(), info(type).kind) != kinds.end()) list.push_back(type);
  }
  return list;
}

const Types& Builder::integer_types() {
  static const Types all = {ElementType::S32, ElementType::S64, ElementType::U32, ElementType::U64,
                            ElementType::S8,  ElementType::U8,  ElementType::S16, ElementType::U16};
  return all;
}

Types Builder::types_of(Opcode opcode, size_t operand_count) {
  static std::vector<Types> known(kOpcodeCount);
  Types& of_opcode = known[static_cast<size_t>(opcode)];
  if (of_opcode.empty()) of_opcode = probe(opcode, operand_count);
  Types list;
  for (ElementType type : types()) {
    if (std::find(of_opcode.begin(), of_opcode.end(), type) != of_opcode.end()) {
      list.push_back(type);
    }
  }
  return list;
}

int64_t Builder::dimension() { return choices.pick({2, 3, 4, 1, 8, 5, 6, 2, 4, 0, 7, 16}); }

const Shape* Builder::array_shape(const Types& types, int64_t min_rank, int64_t max_rank) {
  const int64_t rank =
      std::clamp<int64_t>(choices.pick({1, 2, 0, 2, 3, 1, 4, 5}), min_rank, max_rank);
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (int64_t i = 0; i < rank; ++i) {
    int64_t dim = dimension();
    if (count * dim > kMaxElements) dim = 1;
    count *= std::max<int64_t>(dim, 1);
    dims.push_back(dim);
  }
  const ElementType type = choices.pick(types);
  const Shape* shape = shapes().array(type, dims);
  return choices.chance(10) && !oracle() ? with_layout(shape) : shape;
}

const Shape* Builder::any_shape() {
  if (!runnable() && choices.chance(12)) {
    switch (choices.below(4)) {
      case 0:
        return shapes().token();
      case 1:
        return shapes().opaque();
      default: {
        const Shape* shape = array_shape(types(), 1);
        std::vector<int64_t> dims(shape->dims().begin(), shape->dims().end());
        auto dynamic = std::make_unique<bool[]>(dims.size());
        const size_t at = static_cast<size_t>(choices.below(shape->rank()));
        dynamic[at] = true;
        if (choices.chance(25)) dims[at] = kUnboundedSize;
        return shapes().try_array(shape->element_type(), dims,
                                  std::span(dynamic.get(), dims.size()));
      }
    }
  }
  if (choices.chance(15)) {
    std::vector<const Shape*> elements;
    for (int64_t i = choices.between(0, 3); i > 0; --i) elements.push_back(any_shape());
    return tuple(elements);
  }
  return array_shape(types());
}

const Shape* Builder::with_layout(const Shape* shape) {
  if (!shape->is_array()) return shape;
  Layout layout;
  const std::vector<int64_t> order = choices.permutation(shape->rank());
  layout.minor_to_major = order;
  std::string split;
  if (!runnable()) {
    if (choices.chance(20)) layout.tiling = choices.pick({"T(8,128)", "T(8,128)(2,1)", "T(256)"});
    if (choices.chance(10)) layout.tail_padding_alignment = choices.pick({128, 4});
    if (choices.chance(10)) layout.element_size_in_bits = choices.pick({4, 16, 32});
    if (choices.chance(20)) layout.memory_space = choices.pick({1, 5, 3});
    const int64_t d = choices.below(shape->rank());
    if (shape->rank() > 0 && shape->dim(d) > 1 && choices.chance(10)) {
      split = fmt::format("SC({}:{})", d, choices.between(1, shape->dim(d) - 1));
      layout.split_configs = split;
    }
  }
  if (newest()) {
    if (choices.chance(3)) layout.tiling = "T(*,4)";
    if (choices.chance(10)) layout.index_type = choices.pick({"u32", "u64"});
    if (choices.chance(10)) layout.pointer_type = choices.pick({"u32", "u64"});
    if (choices.chance(5)) layout.metadata_prefix_bytes = 8;
  }
  const Shape* made =
      shapes().try_array(shape->element_type(), shape->dims(), shape->dynamic_dims(), &layout);
  return made ? made : shape;
}

}  // namespace minihlo::generator
