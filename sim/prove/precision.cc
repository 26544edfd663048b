#include "sim/prove/precision.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "ir/numbers.h"

namespace minihlo::prove {
namespace {

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
  explicit Widening(const Module& module)
      : from_(module),
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
      double value = decode_float(type, literal.bytes.data() + i * width);
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

  // A convert to a narrower type rounds to it.
  Instruction* rounded(const Instruction& from, Instruction* convert, Computation* computation) {
    ElementType to = from.shape()->element_type();
    ElementType source = from.operand(0)->shape()->element_type();
    if (!is_widened(to)) return convert;
    if (is_exact(source, to)) return convert;
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
  std::unique_ptr<Module> to_;
  std::unordered_map<const Computation*, Computation*> computations_;
  std::unordered_map<const Instruction*, Instruction*> instructions_;
};

}  // namespace

bool is_widened(ElementType type) {
  return type == ElementType::F32 || type == ElementType::BF16 || type == ElementType::F16;
}

double converted(double value, ElementType source, ElementType target) {
  if (is_exact(source, target)) return value;
  std::byte bytes[8] = {};
  encode_float(target, value, bytes);
  return decode_float(target, bytes);
}

namespace {

ElementType part_of(ElementType complex_type) {
  return complex_type == ElementType::C64 ? ElementType::F32 : ElementType::F64;
}

// From 1 to the next number.
double spacing(ElementType type) {
  uint64_t bits = 0;
  encode_float(type, 1, reinterpret_cast<std::byte*>(&bits));
  ++bits;
  return decode_float(type, reinterpret_cast<const std::byte*>(&bits)) - 1;
}

bool has_floats(const Shape* shape) {
  const std::vector<const Shape*> leaves = leaf_shapes(shape);
  return std::ranges::any_of(leaves, [](const Shape* leaf) {
    return leaf->is_array() && (is_float(leaf->element_type()) || is_complex(leaf->element_type()));
  });
}

}  // namespace

double larger_magnitude(double so_far, ElementType type, const std::byte* element) {
  if (is_complex(type)) {
    const ElementType part = part_of(type);
    so_far = larger_magnitude(so_far, part, element + info(part).bytes);
    return larger_magnitude(so_far, part, element);
  }
  if (!is_float(type)) return so_far;
  const double value = std::abs(decode_float(type, element));
  return std::isfinite(value) ? std::max(so_far, value) : so_far;
}

double largest_magnitude(const Inputs& inputs) {
  double largest = 0;
  for (const std::vector<HostTensor>& device : inputs) {
    for (const HostTensor& tensor : device) {
      if (!is_float(tensor.type) && !is_complex(tensor.type)) continue;
      const int64_t count = tensor.element_count();
      for (int64_t i = 0; i < count; ++i) {
        largest = larger_magnitude(largest, tensor.type,
                                   tensor.data.get() + i * int64_t{info(tensor.type).bytes});
      }
    }
  }
  return largest;
}

bool is_rounding(const double (&values)[2], const double (&wide)[2], double largest) {
  if (std::isnan(wide[0]) || std::isnan(wide[1])) return std::isnan(wide[0]) && std::isnan(wide[1]);
  if (wide[0] == wide[1]) return true;
  double apart = std::abs(values[0] - values[1]), wide_apart = std::abs(wide[0] - wide[1]);
  if (!std::isfinite(wide_apart)) return false;
  if (std::isfinite(apart) && wide_apart <= kLost * largest) return true;
  // One side overflowed, or is NaN: an artefact of the narrow type if the wide ones agree.
  if (!std::isfinite(apart)) {
    return wide_apart <= 1e-6 * std::max(std::abs(wide[0]), std::abs(wide[1]));
  }
  return wide_apart <= 1e-4 * apart;
}

bool may_be_rounding(ElementType type, const std::byte* const (&elements)[2], double largest) {
  const int parts = is_complex(type) ? 2 : 1;
  const ElementType part = is_complex(type) ? part_of(type) : type;
  const int bytes = info(part).bytes;
  double values[2][2] = {}, size = 0;
  for (int side = 0; side < 2; ++side) {
    for (int i = 0; i < parts; ++i) {
      values[side][i] = decode_float(part, elements[side] + i * bytes);
      size = std::max(size, std::abs(values[side][i]));
    }
  }
  // Where there are few bits a few operations round away as much as there is.
  const double next = spacing(part);
  const double lost = std::max(kLost, next < 1e-3 ? 64 * next : 8 * next);
  std::byte sink[8];
  const bool may_overflow = !encode_float(part, std::pow(largest, 4), sink);
  bool differs = false;
  for (int i = 0; i < parts; ++i) {
    const double a = values[0][i], b = values[1][i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    differs = true;
    const double apart = std::abs(a - b);
    const bool is_close =
        std::isfinite(apart) ? apart <= 1e-3 * size || apart <= lost * largest : may_overflow;
    if (!is_close) return false;
  }
  return differs;  // else they are zeros of different signs
}

bool may_round(const Module& module) {
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      switch (info(instruction->opcode()).family) {
        case Family::kElementwise:
          if (instruction->opcode() == Opcode::kSelect) continue;
          break;
        case Family::kReduction:
        case Family::kContraction:
        case Family::kCustom:
        case Family::kRandom:
          break;
        default:
          continue;
      }
      if (has_floats(instruction->shape())) return true;
    }
  }
  return false;
}

std::unique_ptr<Module> widened(const Module& module) { return Widening(module).run(); }

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
