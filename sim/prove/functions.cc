#include "sim/prove/functions.h"

#include <fmt/format.h>

#include "ir/semantics/reducers.h"
#include "ir/text/printer.h"

namespace minihlo::prove {
namespace {

// What of an elementwise operation's attributes changes what is computed: a total order of floats
// has one spelling, the order of other types goes without saying.
std::vector<Attribute> that_matter(const ElementwiseSignature& what) {
  std::vector<Attribute> result;
  for (const AttributeUse& use : info(what.opcode).attributes) {
    if (use.id == AttributeId::result_accuracy || use.id == AttributeId::comparison_order) continue;
    if (use.id == AttributeId::comparison_type) {
      if (is_total_order(what.attributes, what.operands[0])) {
        result.push_back(make_attribute(attr::comparison_type, ComparisonType::kTotalOrder));
      }
    } else if (const Attribute* attribute = find_attribute(what.attributes, use.id)) {
      result.push_back(*attribute);
    }
  }
  return result;
}

uint64_t key_of(Opcode opcode, ElementType operand, ElementType result, uint64_t more) {
  return static_cast<uint64_t>(opcode) | uint64_t{static_cast<uint8_t>(operand)} << 16 |
         uint64_t{static_cast<uint8_t>(result)} << 24 | more << 32;
}

constexpr uint64_t kFold = 1, kCompare = 2;  // kinds of keys; 0: neither

}  // namespace

template <class Make>
uint32_t Functions::cached(uint64_t key, Make make) {
  const auto [place, is_new] = made_.try_emplace(key);
  if (is_new) place->second = make();
  return place->second;
}

uint32_t Functions::elementwise(const ElementwiseSignature& what, const Instruction* shown) {
  Signature made;
  made.key = to_string(what.opcode);
  for (ElementType type : what.operands) made.key += fmt::format(" {}", to_string(type));
  made.key += fmt::format(" {}", to_string(what.result));
  made.attributes = that_matter(what);
  for (const Attribute& attribute : made.attributes) made.key += ' ' + print_text(attribute);
  made.kind = Signature::Kind::kPointwise;
  made.instruction = shown;
  made.opcode = what.opcode;
  made.operand_types.assign(what.operands.begin(), what.operands.end());
  made.result_type = what.result;
  made.commutative = is_commutative(what.opcode) && !is_complex(what.result);
  if (what.opcode == Opcode::kCompare) {
    const ComparisonDirection direction = get(what.attributes, attr::direction);
    made.commutative =
        direction == ComparisonDirection::kEq || direction == ComparisonDirection::kNe;
  }
  if (info(what.opcode).family == Family::kElementwise) {
    if (auto op = elementwise_op(what)) made.op = *op;
  }
  return terms_.signature(std::move(made));
}

uint32_t Functions::of(Opcode opcode, ElementType operand, ElementType result) {
  return cached(key_of(opcode, operand, result, 0), [&] {
    const std::vector<ElementType> operands(static_cast<size_t>(info(opcode).min_operands),
                                            operand);
    return elementwise({opcode, operands, result, {}});
  });
}

uint32_t Functions::select(ElementType type) {
  return cached(key_of(Opcode::kSelect, type, type, 0), [&] {
    const ElementType operands[] = {ElementType::PRED, type, type};
    return elementwise({Opcode::kSelect, operands, type, {}});
  });
}

uint32_t Functions::compare(ComparisonDirection direction, bool total_order, ElementType operands) {
  const uint64_t how = kCompare | (total_order ? 4 : 0) | static_cast<uint64_t>(direction) << 3;
  return cached(key_of(Opcode::kCompare, operands, ElementType::PRED, how), [&] {
    const ElementType types[] = {operands, operands};
    const Attribute attributes[] = {
        make_attribute(attr::direction, direction),
        make_attribute(attr::comparison_type, ComparisonType::kTotalOrder)};
    return elementwise({Opcode::kCompare, types, ElementType::PRED,
                        std::span(attributes).first(total_order ? 2 : 1)});
  });
}

uint32_t Functions::exact_fold(Opcode opcode, ElementType type) {
  return cached(key_of(opcode, type, type, kFold), [&] {
    Signature made;
    made.key = fmt::format("{} of any number of {}", to_string(opcode), to_string(type));
    made.kind = Signature::Kind::kFold;
    made.opcode = opcode;
    made.operand_types = {type, type};
    made.result_type = type;
    made.commutative = true;
    if (auto op = elementwise_op({opcode, made.operand_types, type, {}})) made.op = *op;
    return terms_.signature(std::move(made));
  });
}

}  // namespace minihlo::prove
