#include "sim/prove/wide_arithmetic.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "ir/numbers.h"
#include "sim/prove/hash.h"

namespace minihlo::prove {
namespace {

// The bits of a widened type.
struct Fields {
  int64_t exponent, mantissa;
};
Fields fields(ElementType type) {
  if (type == ElementType::BF16) return {8, 7};
  if (type == ElementType::F16) return {5, 10};
  return {8, 23};
}

// Whether a convert keeps every value.
bool is_exact(ElementType source, ElementType target) {
  return is_widened(source) && fields(source).exponent <= fields(target).exponent &&
         fields(source).mantissa <= fields(target).mantissa;
}

class Widening {
 public:
  Widening(const Module& module, const WideArithmetic& arithmetic)
      : from_(module),
        arithmetic_(arithmetic),
        to_(std::make_unique<Module>(module.name(), const_cast<Module&>(module).shape_pool())) {}

  std::unique_ptr<Module> run() {
    for (const Computation* computation : from_.computations()) {
      if (!copy(*computation)) return nullptr;
    }
    to_->set_entry(computations_.at(from_.entry()));
    for (const Attribute& attribute : from_.attributes()) {
      if (attribute.id == AttributeId::replica_count ||
          attribute.id == AttributeId::num_partitions) {
        to_->set(attribute);
      }
    }
    return std::move(to_);
  }

 private:
  const Shape* shape_of(const Shape* shape) {
    if (shape->is_tuple()) {
      std::vector<const Shape*> elements;
      for (const Shape* element : shape->elements()) {
        elements.push_back(shape_of(element));
        if (!elements.back()) return nullptr;
      }
      return to_->shapes().tuple(elements);
    }
    if (!shape->is_array()) return shape;
    ElementType type = shape->element_type();
    if (is_widened(type))
      type = ElementType::F64;
    else if (is_float(type) || is_complex(type))
      return nullptr;
    const Layout* layout = shape->layout();
    return to_->shapes().try_array(type, shape->dims(), {}, layout);
  }

  const Literal* literal_of(const Literal& literal) {
    if (literal.form == Literal::Form::kElided || literal.form == Literal::Form::kTuple) {
      return nullptr;
    }
    ElementType type = literal.shape->element_type();
    if (!is_widened(type)) return &literal;
    auto width = static_cast<size_t>(info(type).bytes);
    size_t count = literal.bytes.size() / width;
    std::span<std::byte> bytes = to_->arena().array<std::byte>(count * sizeof(double));
    for (size_t i = 0; i < count; ++i) {
      const double value =
          arithmetic_.constant(type, decode_float(type, literal.bytes.data() + i * width));
      std::memcpy(bytes.data() + i * sizeof(double), &value, sizeof(double));
    }
    return to_->arena().make<Literal>(Literal{shape_of(literal.shape), literal.form, bytes, {}});
  }

  static bool observes_bits(const Instruction& instruction) {
    switch (instruction.opcode()) {
      case Opcode::kBitcastConvert:
      case Opcode::kCustomCall:
      case Opcode::kStochasticConvert:
        return true;
      case Opcode::kBitcast:
        return instruction.shape()->element_type() !=
               instruction.operand(0)->shape()->element_type();
      default:
        return false;
    }
  }

  bool copy(const Computation& from) {
    Computation* made = to_->add_computation(from.name());
    computations_[&from] = made;
    for (const Instruction* instruction : from.instructions()) {
      const Shape* shape = shape_of(instruction->shape());
      if (!shape || observes_bits(*instruction)) return false;
      std::vector<Instruction*> operands;
      for (const Instruction* operand : instruction->operands()) {
        operands.push_back(instructions_.at(operand));
      }
      std::vector<Attribute> attributes;
      for (Attribute attribute : instruction->attributes()) {
        if (!translate(attribute)) return false;
        attributes.push_back(attribute);
      }
      Instruction* own =
          made->append(instruction->opcode(), instruction->name(), shape, operands, attributes);
      if (instruction->opcode() == Opcode::kConvert) own = rounded(*instruction, own, made);
      instructions_[instruction] = own;
    }
    made->set_root(instructions_.at(from.root()));
    return true;
  }

  // A convert to a type that rounds does so.
  Instruction* rounded(const Instruction& from, Instruction* convert, Computation* computation) {
    ElementType to = from.shape()->element_type();
    ElementType source = from.operand(0)->shape()->element_type();
    if (!is_widened(to)) return convert;
    if (!arithmetic_.rounds(source, to)) return convert;
    Attribute attributes[] = {make_attribute(attr::exponent_bits, fields(to).exponent),
                              make_attribute(attr::mantissa_bits, fields(to).mantissa)};
    return computation->append(Opcode::kReducePrecision,
                               to_->keep_name(std::string(from.name()) + ".rounded"),
                               convert->shape(), std::span(&convert, 1), attributes);
  }

  // False where an attribute's value has no wider form.
  bool translate(Attribute& attribute) {
    switch (info(attribute.id).kind) {
      case AttributeKind::kComputation:
        attribute.data = computations_.at(attribute_value<Computation*>(attribute));
        return true;
      case AttributeKind::kComputations: {
        auto list = attribute_value<std::span<Computation* const>>(attribute);
        std::span<Computation*> fresh = to_->arena().array<Computation*>(list.size());
        for (size_t i = 0; i < list.size(); ++i) fresh[i] = computations_.at(list[i]);
        attribute.data = fresh.data();
        return true;
      }
      case AttributeKind::kInstructions: {
        auto list = attribute_value<std::span<Instruction* const>>(attribute);
        std::span<Instruction*> fresh = to_->arena().array<Instruction*>(list.size());
        for (size_t i = 0; i < list.size(); ++i) fresh[i] = instructions_.at(list[i]);
        attribute.data = fresh.data();
        return true;
      }
      case AttributeKind::kLiteral:
        attribute.data = literal_of(*attribute_value<const Literal*>(attribute));
        return attribute.data != nullptr;
      default:
        return true;
    }
  }

  const Module& from_;
  const WideArithmetic& arithmetic_;
  std::unique_ptr<Module> to_;
  std::unordered_map<const Computation*, Computation*> computations_;
  std::unordered_map<const Instruction*, Instruction*> instructions_;
};

}  // namespace

bool is_widened(ElementType type) {
  return type == ElementType::F32 || type == ElementType::BF16 || type == ElementType::F16;
}

bool WideArithmetic::rounds(ElementType source, ElementType target) const {
  if (!is_widened(target) || is_exact(source, target)) return false;
  return !unrounded || fields(target).mantissa < fields(*unrounded).mantissa;
}

double WideArithmetic::converted(double value, ElementType source, ElementType target) const {
  if (!rounds(source, target)) return value;
  std::byte bytes[8] = {};
  encode_float(target, value, bytes);
  return decode_float(target, bytes);
}

double WideArithmetic::constant(ElementType type, double value) const {
  if (nudge == 0 || !std::isfinite(value) || value == 0) return value;
  const auto bits = static_cast<int>(fields(type).mantissa);
  int exponent;
  const double significand = std::ldexp(std::frexp(value, &exponent), bits / 2 + 1);
  if (significand == std::trunc(significand)) return value;
  const double half = std::ldexp(1, exponent - 2 - bits);
  return (mix(nudge, std::bit_cast<uint64_t>(value)) >> 32) % 2 == 0 ? value + half : value - half;
}

std::unique_ptr<Module> widened(const Module& module, const WideArithmetic& arithmetic) {
  return Widening(module, arithmetic).run();
}

std::optional<Inputs> widened(const Inputs& inputs) {
  Inputs result;
  for (const std::vector<HostTensor>& device : inputs) {
    std::vector<HostTensor>& own = result.emplace_back();
    for (const HostTensor& tensor : device) {
      if (!is_widened(tensor.type)) {
        own.push_back(tensor);
        continue;
      }
      int64_t count = tensor.element_count();
      std::shared_ptr<std::byte> data = allocate_host(count * int64_t{sizeof(double)});
      if (!data) return std::nullopt;
      for (int64_t i = 0; i < count; ++i) {
        double value = decode_float(tensor.type, tensor.data.get() + i * info(tensor.type).bytes);
        std::memcpy(data.get() + i * int64_t{sizeof(double)}, &value, sizeof(double));
      }
      own.push_back({ElementType::F64, tensor.dims, data, count * int64_t{sizeof(double)}});
    }
  }
  return result;
}

}  // namespace minihlo::prove
