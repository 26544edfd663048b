// Values of constants: mostly small numbers, with the odd special one.
#include <cstring>

#include "ir/numbers.h"
#include "tests/generator/builder.h"

namespace minihlo::generator {
namespace {

// Arrays of more elements than this have one value everywhere.
constexpr int64_t kDense = 64;

// The low bits of `value` as they are kept: narrow ones take a byte, and signed ones keep their
// sign.
void put_bits(ElementType type, uint64_t value, std::byte* to) {
  const int bits = info(type).bits;
  if (type == ElementType::PRED) value &= 1;
  if (bits < 8) {
    value &= (uint64_t{1} << bits) - 1;
    if (is_signed(type) && value >> (bits - 1)) value |= ~((uint64_t{1} << bits) - 1);
  }
  std::memcpy(to, &value, static_cast<size_t>(info(type).bytes));
}

void put_random(Choices& choices, ElementType type, bool tame, std::byte* to) {
  const ElementTypeInfo& row = info(type);
  if (is_complex(type)) {
    const ElementType part = type == ElementType::C64 ? ElementType::F32 : ElementType::F64;
    put_random(choices, part, tame, to);
    put_random(choices, part, tame, to + row.bytes / 2);
    return;
  }
  if (choices.chance(tame ? 4 : 15)) return put_bits(type, choices.bits(), to);
  const int64_t small =
      choices.below(10) - (is_unsigned(type) || type == ElementType::PRED ? 0 : 3);
  if (!is_float(type)) return put_bits(type, static_cast<uint64_t>(small), to);
  encode_float(type, static_cast<double>(small) / 4, to);
}

// Room for elements, aligned as they are.
std::span<std::byte> elements_in(Arena& arena, size_t count, size_t width) {
  if (count == 0) return {};
  return {static_cast<std::byte*>(arena.allocate(count * width, width)), count * width};
}

}  // namespace

const Literal* Builder::literal(const Shape* shape) {
  Literal made;
  made.shape = shape;
  if (shape->is_tuple()) {
    made.form = Literal::Form::kTuple;
    std::vector<const Literal*> elements;
    for (const Shape* element : shape->elements()) elements.push_back(literal(element));
    made.elements = arena().copy(elements);
    return arena().make<Literal>(made);
  }
  const auto width = static_cast<size_t>(info(shape->element_type()).bytes);
  const int64_t count = shape->element_count();
  const bool splat = count > kDense || (count > 0 && choices.chance(5));
  made.form = splat ? Literal::Form::kSplat : Literal::Form::kDense;
  const size_t listed = splat ? 1 : static_cast<size_t>(count);
  std::span<std::byte> bytes = elements_in(arena(), listed, width);
  for (size_t i = 0; i < listed; ++i) {
    put_random(choices, shape->element_type(), runnable(), bytes.data() + i * width);
  }
  made.bytes = bytes;
  return arena().make<Literal>(made);
}

const Literal* Builder::literal(const Shape* shape, const std::vector<int64_t>& values) {
  Literal made;
  made.shape = shape;
  const auto width = static_cast<size_t>(info(shape->element_type()).bytes);
  std::span<std::byte> bytes = elements_in(arena(), values.size(), width);
  for (size_t i = 0; i < values.size(); ++i) {
    put_bits(shape->element_type(), static_cast<uint64_t>(values[i]), bytes.data() + i * width);
  }
  made.bytes = bytes;
  return arena().make<Literal>(made);
}

}  // namespace minihlo::generator
