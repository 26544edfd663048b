#include <algorithm>

#include "tests/generator/rules.h"

namespace minihlo::generator {
namespace {

// Arrays of the same dimensions: the given one, and sometimes more of other types. XLA wants their
// floats to be of one type, except where a window goes over them or they are sorted.
std::vector<Instruction*> with_more(Builder& b, Instruction* first, int percent) {
  std::vector<Instruction*> arrays = {first};
  ElementType of_floats = first->shape()->element_type();
  while (arrays.size() < 3 && b.choices.chance(percent)) {
    ElementType type = b.choices.pick(b.types());
    if (is_float(type) && is_float(of_floats)) type = of_floats;
    if (is_float(type)) of_floats = type;
    arrays.push_back(b.value(b.with_type(first->shape(), type)));
  }
  return arrays;
}

Types types_of(const std::vector<Instruction*>& arrays) {
  Types types;
  for (const Instruction* one : arrays) types.push_back(one->shape()->element_type());
  return types;
}

// Windows that leave something of the operand's dimensions.
std::vector<WindowDimension> window_over(Builder& b, const Shape* shape, bool dilated) {
  std::vector<WindowDimension> window;
  for (int64_t i = 0; i < shape->rank(); ++i) {
    WindowDimension dim;
    dim.size = b.choices.between(1, 3);
    if (b.choices.chance(30)) dim.stride = b.choices.between(1, 3);
    if (b.choices.chance(30)) {
      dim.padding_low = b.choices.below(3);
      dim.padding_high = b.choices.below(3);
    }
    if (dilated && b.choices.chance(15)) dim.base_dilation = b.choices.between(1, 3);
    if (dilated && b.choices.chance(15)) dim.window_dilation = b.choices.between(1, 3);
    window.push_back(dim);
  }
  return window;
}

// What a window leaves of a dimension (the formula of xla/window_util.cc).
int64_t window_count(int64_t size, const WindowDimension& dim) {
  auto dilated = [](int64_t extent, int64_t by) { return extent == 0 ? 0 : (extent - 1) * by + 1; };
  const int64_t padded = dilated(size, dim.base_dilation) + dim.padding_low + dim.padding_high;
  const int64_t window = dilated(dim.size, dim.window_dilation);
  return padded == 0 || window > padded ? 0 : (padded - window) / dim.stride + 1;
}

// One operand in front of the initial values, or all.
std::vector<Instruction*> with_inits(Builder& b, std::vector<Instruction*> arrays) {
  const size_t n = arrays.size();
  for (size_t i = 0; i < n; ++i) {
    arrays.push_back(arrays[i] ? b.scalar(arrays[i]->shape()->element_type()) : nullptr);
  }
  return arrays;
}

}  // namespace

Instruction* make_map(Builder& b, Opcode opcode) {
  Instruction* first = b.array(b.types());
  if (!first) return nullptr;
  const std::vector<Instruction*> arrays = with_more(b, first, 40);
  std::vector<int64_t> all;
  for (int64_t i = 0; i < first->shape()->rank(); ++i) all.push_back(i);
  const Types types = types_of(arrays);
  const ElementType result =
      b.choices.chance(60) || is_complex(types[0]) ? types[0] : b.choices.pick(b.types());
  return b.emit(opcode, arrays,
                {make_attribute(attr::dimensions, b.ints(all)),
                 make_attribute(attr::to_apply, b.scalar_function(types, result))});
}

Instruction* make_reduce(Builder& b, Opcode opcode) {
  Instruction* first = b.array(b.types());
  if (!first) return nullptr;
  const std::vector<Instruction*> arrays = with_more(b, first, 25);
  const int64_t rank = first->shape()->rank();
  // XLA's CPU backend drops the initial value where nothing is reduced.
  const int64_t least = b.oracle() ? std::min<int64_t>(rank, 1) : 0;
  if (b.oracle() && rank == 0) return nullptr;
  const std::vector<int64_t> dims = b.choices.subset(rank, b.choices.between(least, rank));
  return b.emit(opcode, with_inits(b, arrays),
                {make_attribute(attr::dimensions, b.ints(dims)),
                 make_attribute(attr::to_apply, b.reducer(types_of(arrays)))});
}

Instruction* make_reduce_window(Builder& b, Opcode opcode) {
  Instruction* first = b.array(b.types(), 1, 4);
  if (!first) return nullptr;
  const std::vector<Instruction*> arrays = with_more(b, first, 20);
  const std::vector<WindowDimension> window = window_over(b, first->shape(), true);
  return b.emit(opcode, with_inits(b, arrays),
                {make_attribute(attr::window, b.arena().copy(window)),
                 make_attribute(attr::to_apply, b.reducer(types_of(arrays)))});
}

Instruction* make_select_and_scatter(Builder& b, Opcode opcode) {
  Types types = b.types();
  std::erase_if(types, is_complex);
  Instruction* into = b.array(types, 1, 4);
  if (!into) return nullptr;
  const Shape* shape = into->shape();
  const std::vector<WindowDimension> window = window_over(b, shape, false);
  std::vector<int64_t> dims;
  for (int64_t i = 0; i < shape->rank(); ++i) {
    dims.push_back(window_count(shape->dim(i), window[static_cast<size_t>(i)]));
  }
  const ElementType type = shape->element_type();
  Instruction* source = b.value(b.shapes().array(type, dims));
  Scope place = b.nested();
  place.pure = true;
  const std::vector<const Shape*> two(2, b.shapes().scalar(type));
  Computation* select = b.computation("select", two, place, [&] {
    std::span<Instruction* const> parameters = b.scope->computation->parameters();
    return b.emit(Opcode::kCompare, parameters,
                  {make_attribute(attr::direction, b.choices.pick({ComparisonDirection::kGe,
                                                                   ComparisonDirection::kLe}))});
  });
  return b.emit(
      opcode, {into, source, b.scalar(type)},
      {make_attribute(attr::window, b.arena().copy(window)), make_attribute(attr::select, select),
       make_attribute(attr::scatter, b.reducer({type}))});
}

Instruction* make_scan(Builder& b, Opcode opcode) {
  Instruction* first = b.array(b.types(), 1, 4);
  if (!first) return nullptr;
  const int64_t along = b.choices.below(first->shape()->rank());
  if (b.runnable() && first->shape()->dim(along) == 0) return nullptr;
  std::vector<int64_t> dims(first->shape()->dims().begin(), first->shape()->dims().end());
  dims.erase(dims.begin() + along);
  const Shape* slice = b.shapes().array(first->shape()->element_type(), dims);
  // One input and one carry of a slice's shape; the output is the new carry.
  Scope place = b.nested();
  place.pure = true;
  const std::vector<const Shape*> both(2, slice);
  Computation* step = b.computation("step", both, place, [&] {
    std::span<Instruction* const> parameters = b.scope->computation->parameters();
    const Types sums = b.types_of(Opcode::kAdd, 2);
    Instruction* sum = b.emit(Opcode::kAdd, parameters);
    return b.emit(Opcode::kTuple, {sum, sum});
  });
  std::vector<Attribute> attributes = {make_attribute(attr::dimensions, b.ints({along})),
                                       make_attribute(attr::num_carries, 1),
                                       make_attribute(attr::to_apply, step)};
  if (b.choices.chance(40)) attributes.push_back(make_attribute(attr::is_reverse, true));
  attributes.push_back(make_attribute(attr::is_associative, b.choices.chance(50)));
  return b.emit(opcode, {first, b.value(slice)}, attributes);
}

Instruction* make_sort(Builder& b, Opcode opcode) {
  Instruction* first = b.array(b.types(), 1);
  if (!first) return nullptr;
  const std::vector<Instruction*> arrays = with_more(b, first, 35);
  std::vector<Attribute> attributes = {
      make_attribute(attr::dimensions, b.ints({b.choices.below(first->shape()->rank())})),
      make_attribute(attr::to_apply, b.comparator(types_of(arrays)))};
  // Without it equal keys may come in any order.
  if (b.oracle() || b.choices.chance(50))
    attributes.push_back(make_attribute(attr::is_stable, true));
  return b.emit(opcode, arrays, attributes);
}

Instruction* make_topk(Builder& b, Opcode opcode) {
  Types types = b.types();
  std::erase_if(types, [](ElementType type) { return is_complex(type); });
  if (b.oracle()) types = {ElementType::F32, ElementType::S32};
  Instruction* from = b.array(types, 1, 3);
  if (!from) return nullptr;
  const int64_t last = from->shape()->dims().back();
  std::vector<Attribute> attributes = {
      make_attribute(attr::k, b.choices.between(std::min<int64_t>(last, 1), last)),
      make_attribute(attr::largest, b.choices.chance(70))};
  if (b.newest() && b.choices.chance(30)) {
    attributes.push_back(make_attribute(attr::is_stable, b.choices.chance(50)));
  }
  return b.emit(opcode, {from}, attributes);
}

}  // namespace minihlo::generator
