#include "sim/prove/precision.h"

#include <algorithm>
#include <cmath>

#include "ir/numbers.h"
#include "sim/prove/constants.h"
#include "sim/prove/types.h"

namespace minihlo::prove {
namespace {

// From 1 to the next number.
double spacing(ElementType type) {
  uint64_t bits = 0;
  encode_float(type, 1, reinterpret_cast<std::byte*>(&bits));
  ++bits;
  return decode_float(type, reinterpret_cast<const std::byte*>(&bits)) - 1;
}

// Whether a difference is one by rounding, given the values in wider arithmetic.
bool shrinks_away(const double (&values)[2], const std::array<double, 2>& wide, double largest) {
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

// How far the constants' own rounding moves the values in wider arithmetic, at most.
double moved_by_constants(const std::array<double, 2>& wide, WideArithmetic arithmetic,
                          const WideValues& evaluate) {
  constexpr uint64_t kTrials = 4;
  double moved = 0;
  for (arithmetic.nudge = 1; arithmetic.nudge <= kTrials; ++arithmetic.nudge) {
    const std::optional<std::array<double, 2>> nudged = evaluate(arithmetic);
    if (!nudged) break;
    for (size_t side = 0; side < 2; ++side) {
      const double apart = std::abs((*nudged)[side] - wide[side]);
      if (std::isfinite(apart)) moved = std::max(moved, apart);
    }
    if (moved == 0) break;  // no constant that could move
  }
  return moved;
}

}  // namespace

std::optional<bool> is_rounding(ElementType type, const double (&values)[2], double largest,
                                const WideValues& evaluate) {
  constexpr double kOfConstants = 8;  // what several constants move together
  WideArithmetic arithmetic;
  std::optional<std::array<double, 2>> wide = evaluate(arithmetic);
  if (!wide) return std::nullopt;
  if (values[0] == values[1]) {  // zeros of different signs, or what rounded or cancelled to them
    return (*wide)[0] != (*wide)[1] && shrinks_away(values, *wide, largest);
  }
  if (shrinks_away(values, *wide, largest)) return true;
  arithmetic.unrounded = type;
  wide = evaluate(arithmetic);
  if (!wide) return std::nullopt;
  if (shrinks_away(values, *wide, largest)) return true;
  const double apart = std::abs((*wide)[0] - (*wide)[1]);
  return std::isfinite(apart) &&
         apart <= kOfConstants * moved_by_constants(*wide, arithmetic, evaluate);
}

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

double own_magnitude(const Module& module) {
  constexpr double kMost = 1024;
  double largest = 0;
  for (const Computation* computation : module.computations()) {
    for (const Instruction* instruction : computation->instructions()) {
      if (!has_floats(instruction->shape())) continue;
      if (std::ranges::any_of(info(instruction->opcode()).attributes, [](const AttributeUse& use) {
            return use.id == AttributeId::result_accuracy;
          })) {
        largest = std::max(largest, 1.0);
      }
      if (instruction->opcode() != Opcode::kConstant) continue;
      const Literal& literal = *instruction->get(attr::literal_value);
      if (!literal.shape->is_array()) continue;
      const ElementType type = literal.shape->element_type();
      const auto width = static_cast<size_t>(info(type).bytes);
      for (size_t at = 0; at + width <= literal.bytes.size(); at += width) {
        const double own = larger_magnitude(0, type, literal.bytes.data() + at);
        if (own <= kMost) largest = std::max(largest, own);
      }
    }
  }
  return largest;
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

bool may_be_rounding(ElementType type, const std::byte* const (&elements)[2], double largest_input,
                     double own) {
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
  const bool has_few_bits = next >= 1e-3;
  const double lost = std::max(kLost, (has_few_bits ? 8 : 64) * next) *
                      (has_few_bits ? largest_input : std::max(largest_input, own));
  std::byte sink[8];
  const double product = std::pow(largest_input, 8);
  const bool may_overflow = !std::isfinite(product) || !encode_float(part, product, sink);
  const double relative = has_few_bits ? std::clamp(4 * next, 1e-3, 0.5) : 1e-3;
  bool differs = false;
  for (int i = 0; i < parts; ++i) {
    const double a = values[0][i], b = values[1][i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    differs = true;
    const double apart = std::abs(a - b);
    const bool is_close =
        std::isfinite(apart) ? apart <= relative * size || apart <= lost : may_overflow;
    if (!is_close) return false;
  }
  // Else they are zeros of different signs. Each part of a complex product is a sum, of which the
  // terms that cancel in one order need not in another.
  return differs || is_complex(type);
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

}  // namespace minihlo::prove
