#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <tsl/robin_set.h>

#include "ir/hash.h"
#include "ir/inference/context.h"
#include "ir/row_major.h"
#include "ir/shape_inference.h"
#include "ir/verify/verification.h"

namespace minihlo::verifier {
namespace {

// Most opcodes want floats of one width (CheckMixedPrecisionOperands of
// xla/service/hlo_verifier.cc).
void check_precision(Verification& v, const Instruction* instruction) {
  if (instruction->operand_count() < 2 || info(instruction->opcode()).traits.mixes_floats) {
    return;
  }
  const Instruction* first = nullptr;
  for (const Instruction* operand : instruction->operands()) {
    const Shape* shape = operand->shape();
    if (!shape->is_array() || !is_float(shape->element_type())) continue;
    if (!first) first = operand;
    if (first->shape()->element_type() == shape->element_type()) continue;
    v.backend_error(
        "mixed-precision", instruction, "{} of floats of different types: %{} is {}, %{} is {}",
        to_string(instruction->opcode()), first->name(), to_string(first->shape()->element_type()),
        operand->name(), to_string(shape->element_type()));
    return;
  }
}

// compatible_but_for_dynamic(), where floats may be of other types.
bool compatible_but_for_floats(const Shape* a, const Shape* b) {
  if (a->is_tuple() && b->is_tuple() && a->elements().size() == b->elements().size()) {
    for (size_t i = 0; i < a->elements().size(); ++i) {
      if (!compatible_but_for_floats(a->elements()[i], b->elements()[i])) return false;
    }
    return true;
  }
  if (!a->is_array() || !b->is_array() || !is_float(a->element_type()) ||
      !is_float(b->element_type())) {
    return compatible_but_for_dynamic(a, b);
  }
  return std::ranges::equal(a->dims(), b->dims());
}

// A bitcast reads the bytes of its operand anew. Where tiles pad, or a dimension is dynamic, how
// many there are is not known here.
void check_bitcast(Verification& v, const Instruction* bitcast) {
  const Shape* from = bitcast->operand(0)->shape();
  const Shape* to = bitcast->shape();
  if (!from->is_array() || !to->is_array()) {
    if (compatible(from, to)) return;
    v.backend_error("bitcast-size", bitcast, "a bitcast turns operand 0 (%{}, {}) into {}",
                    bitcast->operand(0)->name(), to_string(from, false), to_string(to, false));
    return;
  }
  auto is_plain = [](const Shape* shape) {
    return shape->is_array() && !shape->is_dynamic() &&
           (!shape->layout() ||
            (shape->layout()->tiling.empty() && shape->layout()->tail_padding_alignment == 1));
  };
  if (!is_plain(from) || !is_plain(to)) return;
  // An element narrower than a byte takes one, unless the layout says how many bits.
  auto bits = [](const Shape* shape, bool packed) {
    int64_t one = info(shape->element_type()).bits;
    if (!packed) one = info(shape->element_type()).bytes * int64_t{8};
    if (!packed && shape->layout() && shape->layout()->element_size_in_bits > 0) {
      one = shape->layout()->element_size_in_bits;
    }
    return inference::Wide{shape->element_count()} * one;
  };
  if (bits(from, false) == bits(to, false) || bits(from, true) == bits(to, true)) return;
  v.backend_error("bitcast-size", bitcast,
                  "a bitcast keeps bytes, but operand 0 (%{}, {}) and the result {} differ in size",
                  bitcast->operand(0)->name(), to_string(from, false), to_string(to, false));
}

// The layouts of a shape's arrays: each orders just the dimensions that there are.
class Layouts {
 public:
  // What is wrong with the shape, or an empty string. Each shape is looked at once.
  std::string check(const Shape* shape) {
    if (!seen_.insert(shape).second) return "";
    for (const Shape* element : shape->elements()) {
      if (std::string wrong = check(element); !wrong.empty()) return wrong;
    }
    if (!shape->is_array() || !shape->layout()) return "";
    const auto rank = static_cast<size_t>(shape->rank());
    if (is_permutation(shape->layout()->minor_to_major, rank)) return "";
    return fmt::format("the layout of {} does not order its {} dimensions", to_string(shape),
                       shape->rank());
  }

 private:
  tsl::robin_set<const Shape*> seen_;
};

// A comparison of floats of another type than what is sorted.
void check_comparator(Verification& v, const Instruction* sort) {
  const Computation* compare = sort->get(attr::to_apply);
  for (size_t i = 0; i < compare->parameters().size(); ++i) {
    const ElementType parameter = compare->parameters()[i]->shape()->element_type();
    const ElementType element = sort->operand(i / 2)->shape()->element_type();
    if (parameter == element) continue;
    v.backend_error("mixed-precision", sort, "to_apply=%{} compares {}, but %{} is made of {}",
                    compare->name(), to_string(parameter), sort->operand(i / 2)->name(),
                    to_string(element));
    return;
  }
}

// operand_precision={high,default} of what multiplies.
void check_operand_precision(Verification& v, const Instruction* instruction) {
  constexpr std::string_view kKnown[] = {"default", "high", "highest", "packed_nibble"};
  if (info(instruction->opcode()).family != Family::kContraction &&
      instruction->opcode() != Opcode::kCustomCall) {
    return;
  }
  for (std::string_view word : instruction->get(attr::operand_precision)) {
    if (std::ranges::find(kKnown, word) != std::end(kKnown)) continue;
    v.error("operand-precision", instruction, "operand_precision names '{}', which is none of {}",
            word, fmt::join(kKnown, ", "));
  }
}

// Elements for which XLA infers a shape, but for which the opcode has no meaning.
void check_elements(Verification& v, const Instruction* instruction) {
  switch (instruction->opcode()) {
    case Opcode::kShiftLeft:
    case Opcode::kShiftRightArithmetic:
    case Opcode::kShiftRightLogical:
    case Opcode::kMulhi:
      break;
    default:
      return;
  }
  const Shape* shape = instruction->operand(0)->shape();
  if (!shape->is_array() || is_integer(shape->element_type())) return;
  v.backend_error("element-type", instruction, "{} takes only integers, but %{} is made of {}",
                  to_string(instruction->opcode()), instruction->operand(0)->name(),
                  to_string(shape->element_type()));
}

// XLA takes a generator without a state, too, and bits of any shape.
void check_generator(Verification& v, const Instruction* generator) {
  const Shape* shape = generator->shape();
  if (shape->is_tuple() && shape->elements().size() == 2 && shape->element(1)->is_array() &&
      generator->operand(0)->shape()->is_array()) {
    const ElementType type = shape->element(1)->element_type();
    if (is_float(type) || (is_integer(type) && type != ElementType::PRED)) return;
  }
  v.backend_error("element-type", generator,
                  "rng-bit-generator makes an array of state and one of integers or floats, not {}",
                  to_string(shape, false));
}

// A target that XLA gives a meaning, and the only one whose shape it looks at but for buffers.
void check_custom_call(Verification& v, const Instruction* call) {
  if (call->get(attr::custom_call_target) != "GetRngSeed") return;
  const Shape* shape = call->shape();
  if (call->operand_count() == 0 && shape->is_scalar() &&
      shape->element_type() == ElementType::U64) {
    return;
  }
  v.error("shape", call, "GetRngSeed takes nothing and gives u64[]");
}

// What is written is not what is inferred.
void check_written(Verification& v, const Instruction* instruction, const Shape* inferred) {
  const std::string wrong =
      fmt::format("the shape of %{} is written as {}, but {} gives {}", instruction->name(),
                  to_string(instruction->shape(), false), to_string(instruction->opcode()),
                  to_string(inferred, false));
  if (!info(instruction->opcode()).traits.keeps_types &&
      compatible_but_for_floats(inferred, instruction->shape())) {
    v.backend_error("mixed-precision", instruction, "{}", wrong);
  } else {
    v.error("shape-mismatch", instruction, "{}", wrong);
  }
}

// What the rules of shapes look at, of instructions that broke none. Most instructions of a model
// differ from an earlier one in their names and metadata alone.
class FoundRight {
 public:
  // Few instructions get by with few places, which are there sooner.
  explicit FoundRight(size_t instructions)
      : table_(std::bit_ceil(std::clamp<size_t>(instructions, 1, kSize))) {
    for (const AttributeUse& use : common_attributes()) common_[static_cast<size_t>(use.id)] = true;
  }

  // Whether one like it was found right. If not, it is what add() adds.
  bool contains(const Instruction* instruction) {
    place_ = nullptr;
    looked_ = {};
    looked_.opcode = instruction->opcode();
    looked_.result = instruction->shape();
    const size_t count = instruction->operand_count();
    if (count > kMostOperands) return false;
    for (size_t i = 0; i < count; ++i) looked_.operands[i] = instruction->operand(i)->shape();
    size_t own = 0;
    for (const Attribute& attribute : instruction->attributes()) {
      if (common_[static_cast<size_t>(attribute.id)]) continue;
      if (own == kMostAttributes) return false;
      Own& copy = looked_.attributes[own++];
      copy.id = static_cast<size_t>(attribute.id);
      copy.size = attribute.size;
      // A number's bits, or where the value lies: what was written alike most often lies together.
      std::memcpy(&copy.value, &attribute.integer, sizeof(copy.value));
    }
    auto mix = [](uint64_t hash, uint64_t value) {
      return internal::fold(hash ^ value, internal::kHashFactor);
    };
    auto address = [](const Shape* shape) { return reinterpret_cast<uintptr_t>(shape); };
    uint64_t hash = mix(static_cast<uint64_t>(looked_.opcode), address(looked_.result));
    for (size_t i = 0; i < count; ++i) hash = mix(hash, address(looked_.operands[i]));
    for (size_t i = 0; i < own; ++i) hash = mix(hash, looked_.attributes[i].value);
    place_ = &table_[hash & (table_.size() - 1)];
    return *place_ == looked_;
  }
  void add() {
    if (place_) *place_ = looked_;
  }

 private:
  static constexpr size_t kSize = 2048, kMostOperands = 3, kMostAttributes = 3;
  struct Own {
    size_t id = 0;
    uint64_t size = 0, value = 0;

    bool operator==(const Own&) const = default;
  };
  struct Looked {
    Opcode opcode{};
    const Shape* result = nullptr;
    std::array<const Shape*, kMostOperands> operands{};
    std::array<Own, kMostAttributes> attributes{};

    bool operator==(const Looked&) const = default;
  };

  std::array<bool, kAttributeCount> common_{};  // to all opcodes, which no rule of shapes looks at
  std::vector<Looked> table_;                   // by hash; a later one takes an earlier one's place
  Looked looked_;
  Looked* place_ = nullptr;
};

}  // namespace

void check_shapes(Verification& v) {
  size_t instructions = 0;
  for (const Computation* one : v.module().computations()) instructions += one->size();
  FoundRight found_right(instructions);
  Layouts layouts;
  bool unbounded = false;
  ShapePool& shapes = *v.module().shape_pool();
  for (const Computation* computation : v.module().computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!v.is_sound(instruction) || found_right.contains(instruction)) continue;
      const size_t reported = v.diagnostics().all().size() + v.diagnostics().error_count();
      const Opcode opcode = instruction->opcode();
      if (std::string wrong = layouts.check(instruction->shape()); !wrong.empty()) {
        v.error("layout", instruction, "{}", wrong);
      }
      check_precision(v, instruction);
      auto inferred = infer_shape(shapes, {opcode, instruction->operands(),
                                           instruction->attributes(), instruction->shape()});
      if (!inferred) {
        v.error("shape", instruction, "{}", inferred.error());
      } else if (!compatible_but_for_dynamic(*inferred, instruction->shape())) {
        check_written(v, instruction, *inferred);
      }
      check_elements(v, instruction);
      check_operand_precision(v, instruction);
      if (opcode == Opcode::kBitcast) check_bitcast(v, instruction);
      if (opcode == Opcode::kCustomCall) check_custom_call(v, instruction);
      if (opcode == Opcode::kRngBitGenerator && inferred) check_generator(v, instruction);
      if (opcode == Opcode::kSort && inferred) check_comparator(v, instruction);
      if (!unbounded && instruction->shape()->is_unbounded()) {
        unbounded = true;
        v.warning("unbounded", instruction,
                  "{} has a dimension without a bound, which XLA takes only where it is told to",
                  to_string(instruction->shape(), false));
      }
      if (reported == v.diagnostics().all().size() + v.diagnostics().error_count()) {
        found_right.add();
      }
    }
  }
}

}  // namespace minihlo::verifier
