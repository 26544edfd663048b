#include "sim/prove/wide_arithmetic.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "ir/float_format.h"
#include "ir/numbers.h"
#include "ir/semantics/convert_chains.h"
#include "sim/prove/hash.h"

namespace minihlo::prove {
namespace {

// Whether a convert keeps every value.
bool is_exact(ElementType source, ElementType target) {
  return source == target || (is_widened(source) && holds_values(source, target));
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
    if (is_complex(type)) return nullptr;
    if (is_widened(type)) type = ElementType::F64;
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
      if (!own) return false;
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
    const Shape* narrow = to_->shapes().try_array(to, convert->shape()->dims(), {}, nullptr);
    if (!narrow) return nullptr;
    Instruction* there =
        computation->append(Opcode::kConvert, to_->keep_name(std::string(from.name()) + ".narrow"),
                            narrow, convert->operands(), {});
    return computation->append(Opcode::kConvert,
                               to_->keep_name(std::string(from.name()) + ".rounded"),
                               convert->shape(), std::span(&there, 1), {});
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
  return is_float(type) && info(type).bits <= 32 && type != ElementType::F8E8M0FNU;
}

bool WideArithmetic::rounds(ElementType source, ElementType target) const {
  if (!is_widened(target) || is_exact(source, target)) return false;
  return !unrounded || significand_bits(target) < significand_bits(*unrounded);
}

double WideArithmetic::converted(double value, ElementType source, ElementType target) const {
  if (!rounds(source, target)) return value;
  std::byte bytes[8] = {};
  encode_float(target, value, bytes);
  return decode_float(target, bytes);
}

double WideArithmetic::constant(ElementType type, double value) const {
  if (nudge == 0 || !std::isfinite(value) || value == 0) return value;
  const int bits = significand_bits(type);
  int exponent;
  const double significand = std::ldexp(std::frexp(value, &exponent), (bits + 1) / 2);
  if (significand == std::trunc(significand)) return value;
  const double half = std::ldexp(1, exponent - 1 - bits);
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
