// Elementwise opcodes: all operands have the dimensions of the result; nothing is broadcast.
#include "ir/float_format.h"
#include "ir/inference/families.h"

namespace minihlo::inference {
namespace {

enum Kinds : unsigned {
  kPred = 1u << static_cast<int>(ElementKind::kPred),
  kSigned = 1u << static_cast<int>(ElementKind::kSigned),
  kUnsigned = 1u << static_cast<int>(ElementKind::kUnsigned),
  kFloat = 1u << static_cast<int>(ElementKind::kFloat),
  kComplex = 1u << static_cast<int>(ElementKind::kComplex),
  kIntegers = kSigned | kUnsigned,
  kNumbers = kIntegers | kFloat | kComplex,
  kAnything = kPred | kNumbers,
};

// The kinds of element that XLA gives a shape for. Some mean nothing (ir/verify/shapes.cc).
unsigned kinds_of(Opcode opcode) {
  switch (opcode) {
    case Opcode::kAbs:
    case Opcode::kSign:
      return kSigned | kFloat | kComplex;
    case Opcode::kCbrt:
    case Opcode::kErf:
    case Opcode::kCeil:
    case Opcode::kFloor:
    case Opcode::kRoundNearestAfz:
    case Opcode::kRoundNearestEven:
    case Opcode::kIsFinite:
    case Opcode::kReducePrecision:
      return kFloat;
    case Opcode::kNot:
    case Opcode::kAnd:
    case Opcode::kOr:
    case Opcode::kXor:
      return kPred | kIntegers;
    case Opcode::kPopulationCount:
    case Opcode::kClz:
      return kIntegers;
    case Opcode::kNegate:
    case Opcode::kSubtract:
    case Opcode::kDivide:
    case Opcode::kRemainder:
    case Opcode::kPower:
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
      return kNumbers;
    case Opcode::kAdd:
    case Opcode::kMultiply:
    case Opcode::kMaximum:
    case Opcode::kMinimum:
    case Opcode::kMulhi:
    case Opcode::kClamp:
    case Opcode::kCompare:
      return kAnything;
    default:
      // real, imag, atan2 and the transcendental functions.
      return kFloat | kComplex;
  }
}

std::string check_kind(const Context& c, size_t i) {
  unsigned kinds = kinds_of(c.opcode());
  if (kinds >> static_cast<int>(info(c.shape(i)->element_type()).kind) & 1) return "";
  constexpr std::pair<unsigned, std::string_view> kNames[] = {
      {kPred, "pred"}, {kIntegers, "integers"}, {kFloat, "floats"}, {kComplex, "complex numbers"}};
  std::string names;
  for (const auto& [kind, name] : kNames) {
    if (!(kinds & kind)) continue;
    if (!names.empty()) names += kinds >> 1 < kind ? " or " : ", ";
    if ((kinds & kind) == kSigned) names += "signed ";
    names += name;
  }
  return fmt::format("{} is defined on {}, not on {}", c.name(), names, c.describe(i));
}

// The dimensions that operands `from` to `to` have in common, with the layout of the first.
Result common_shape(const Context& c, size_t from, size_t to) {
  const Shape* first = c.shape(from);
  ElementType type = first->element_type();
  bool same = true;
  for (size_t i = from + 1; i < to; ++i) {
    if (c.shape(i)->bare() == first->bare()) continue;
    same = false;
    MINIHLO_RETURN_IF_WRONG(c.need_same_dims(from, i));
    std::optional<ElementType> common = common_type(type, c.shape(i)->element_type());
    if (!common) return tl::make_unexpected(c.need_like_types(from, i));
    type = *common;
  }
  if (same) return first;
  if (!first->is_dynamic()) {
    bool any_dynamic = false;
    for (size_t i = from + 1; i < to; ++i) any_dynamic |= c.shape(i)->is_dynamic();
    if (!any_dynamic) return c.with_type(first, type);
  }
  Dims dims = dims_of(first);
  for (size_t i = from + 1; i < to; ++i) {
    for (int64_t d = 0; d < first->rank(); ++d) {
      Dim& dim = dims[static_cast<size_t>(d)];
      dim = *merge(dim, dim_of(c.shape(i), d));
    }
  }
  return c.array(type, dims);
}

}  // namespace

Result infer_elementwise(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, c.count()));
  MINIHLO_RETURN_IF_WRONG(check_kind(c, 0));
  return common_shape(c, 0, c.count());
}

Result infer_is_finite(const Context& c) {
  Result shape = infer_elementwise(c);
  return shape ? c.with_type(*shape, ElementType::PRED) : shape;
}

// abs, real, imag: of a complex number a real one.
Result infer_component(const Context& c) {
  Result shape = infer_elementwise(c);
  if (!shape) return shape;
  return c.with_type(*shape, part_of((*shape)->element_type()));
}

Result infer_complex(const Context& c) {
  Result shape = infer_elementwise(c);
  if (!shape) return shape;
  switch ((*shape)->element_type()) {
    case ElementType::F32:
      return c.with_type(*shape, ElementType::C64);
    case ElementType::F64:
      return c.with_type(*shape, ElementType::C128);
    default:
      return fail("complex is defined on f32 and f64, not on {}", c.describe(0));
  }
}

Result infer_compare(const Context& c) {
  Result shape = infer_elementwise(c);
  if (!shape) return shape;
  const ElementType type = c.shape(0)->element_type();
  if (auto order = c.find(attr::comparison_type)) {
    using Type = ComparisonType;
    bool good = is_float(type)     ? *order == Type::kFloat || *order == Type::kTotalOrder
                : is_complex(type) ? *order == Type::kFloat
                : is_signed(type)  ? *order == Type::kSigned
                                   : *order == Type::kUnsigned;
    if (!good) {
      return fail("type={} does not fit {}",
                  word(AttributeId::comparison_type, static_cast<int64_t>(*order)), c.describe(0));
    }
  }
  const bool may_be_partial = is_float(type) || is_complex(type);
  if (c.find(attr::comparison_order) == ComparisonOrder::kPartial && !may_be_partial) {
    return fail("order=PARTIAL does not fit {}", c.describe(0));
  }
  return c.with_type(*shape, ElementType::PRED);
}

Result infer_clamp(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, 3));
  MINIHLO_RETURN_IF_WRONG(check_kind(c, 1));
  for (size_t bound : {0, 2}) {
    MINIHLO_RETURN_IF_WRONG(c.need_like_types(1, bound));
    if (!c.shape(bound)->is_scalar()) MINIHLO_RETURN_IF_WRONG(c.need_same_dims(1, bound));
  }
  return c.shape(1);
}

Result infer_select(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, 3));
  if (c.shape(0)->element_type() != ElementType::PRED) {
    return fail("{} selects, so it must be pred", c.describe(0));
  }
  if (!c.shape(0)->is_scalar()) MINIHLO_RETURN_IF_WRONG(c.need_same_dims(0, 1));
  return common_shape(c, 1, 3);
}

// The written shape gives the element type.
Result infer_convert(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  MINIHLO_RETURN_IF_WRONG(c.need_written_array());
  return c.with_type(c.shape(0), c.written()->element_type());
}

Result infer_reduce_precision(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_array(0));
  MINIHLO_RETURN_IF_WRONG(check_kind(c, 0));
  if (c.get(attr::exponent_bits) < 1) {
    return fail("exponent_bits={} must be at least 1", c.get(attr::exponent_bits));
  }
  if (c.get(attr::mantissa_bits) < 0) {
    return fail("mantissa_bits={} must not be negative", c.get(attr::mantissa_bits));
  }
  return c.shape(0);
}

Result infer_stochastic_convert(const Context& c) {
  MINIHLO_RETURN_IF_WRONG(c.need_arrays(0, 2));
  MINIHLO_RETURN_IF_WRONG(c.need_written_array());
  MINIHLO_RETURN_IF_WRONG(c.need_same_dims(0, 1));
  const ElementType type = c.shape(0)->element_type();
  const ElementType random = c.shape(1)->element_type();
  if (!is_float(type))
    return fail("stochastic-convert is defined on floats, not on {}", c.describe(0));
  if (!is_unsigned(random) || info(random).bits != info(type).bits) {
    return fail("{} must be unsigned, with the {} bits of {}", c.describe(1), info(type).bits,
                c.describe(0));
  }
  if (!is_signed(c.written()->element_type())) {
    return fail("the result of stochastic-convert is made of signed integers, not {}",
                text(c.written()));
  }
  return c.with_type(c.shape(0), c.written()->element_type());
}

}  // namespace minihlo::inference
