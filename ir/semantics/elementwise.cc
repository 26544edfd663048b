#include "ir/semantics/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "ir/numbers.h"
#include "ir/semantics/elementwise_bits.h"

namespace minihlo {

using elementwise::KernelEntry;
using elementwise::KernelRow;

namespace {

constexpr int64_t kBlockBytes = 4096;

/// Whether floats of the type are computed as f32.
bool is_mini_float(ElementType type) { return is_float(type) && info(type).bits <= 16; }

/// The width of a float's fields; zero for what is stored otherwise.
ElementwiseParameters own_fields(ElementType type) {
  return dispatch(type, []<class T>(std::type_identity<T>) {
    ElementwiseParameters fields;
    if constexpr (elementwise::AnyFloat<T>) {
      fields.exponent_bits = elementwise::FloatBits<T>::kExponentBits;
      fields.mantissa_bits = elementwise::FloatBits<T>::kMantissaBits;
    }
    return fields;
  });
}

const KernelRow* common_row(Opcode opcode) {
  for (auto* find : {elementwise::arithmetic_row, elementwise::bitwise_row,
                     elementwise::rounding_row, elementwise::math_row}) {
    if (const KernelRow* row = find(opcode)) return row;
  }
  return nullptr;
}

std::string names(std::span<const ElementType> types) {
  std::string text;
  for (ElementType type : types) {
    if (!text.empty()) text += ", ";
    text += to_string(type);
  }
  return text;
}

void splat(std::byte* block, const std::byte* element, int64_t bytes, int64_t count) {
  for (int64_t i = 0; i < count; ++i) std::memcpy(block + i * bytes, element, bytes);
}

}  // namespace

void ElementwiseOp::operator()(int64_t count, const std::byte* const* operands,
                               const int64_t* steps, std::byte* result) const {
  const int n = operand_count_;
  bool direct = encode_ == Encode::kNo;
  int64_t widest = info(result_type_).bytes;
  if (encode_ != Encode::kNo) widest = encode_ == Encode::kFromF32 ? 4 : 8;
  for (int i = 0; i < n; ++i) {
    if (operands_[i].decoded || (steps[i] == 0 && count > 1)) direct = false;
    widest = std::max<int64_t>(widest, operands_[i].bytes);
  }
  if (direct) {
    kernel_(count, operands, result, parameters_);
    return;
  }

  alignas(64) std::byte buffers[kMaxOperands + 1][kBlockBytes];
  const int64_t block = std::min(count, kBlockBytes / widest);
  const std::byte* in[kMaxOperands] = {};
  for (int i = 0; i < n; ++i) {
    if (steps[i] != 0) continue;
    const Operand& operand = operands_[i];
    alignas(16) std::byte element[16];
    if (operand.decoded) {
      decode_floats(operand.type, operands[i], 1, reinterpret_cast<float*>(element));
    } else {
      std::memcpy(element, operands[i], operand.bytes);
    }
    splat(buffers[i], element, operand.bytes, block);
    in[i] = buffers[i];
  }
  const int64_t result_bytes = info(result_type_).bytes;
  for (int64_t done = 0; done < count; done += block) {
    const int64_t size = std::min(block, count - done);
    for (int i = 0; i < n; ++i) {
      if (steps[i] == 0) continue;
      const std::byte* source = operands[i] + done * info(operands_[i].type).bytes;
      in[i] = source;
      if (operands_[i].decoded) {
        decode_floats(operands_[i].type, source, size, reinterpret_cast<float*>(buffers[i]));
        in[i] = buffers[i];
      }
    }
    std::byte* out = result + done * result_bytes;
    const std::byte* computed = in[0];
    if (kernel_) {
      std::byte* to = encode_ == Encode::kNo ? out : buffers[kMaxOperands];
      kernel_(size, in, to, parameters_);
      computed = to;
    }
    if (encode_ == Encode::kFromF32) {
      encode_floats(result_type_, reinterpret_cast<const float*>(computed), size, out);
    } else if (encode_ == Encode::kFromF64) {
      encode_floats(result_type_, reinterpret_cast<const double*>(computed), size, out);
    }
  }
}

class ElementwiseLookup {
 public:
  explicit ElementwiseLookup(const ElementwiseSignature& signature) : signature_(signature) {}

  tl::expected<ElementwiseOp, std::string> run() {
    const OpcodeInfo& row = info(signature_.opcode);
    if (row.family != Family::kElementwise) return fail("is not elementwise");
    if (static_cast<int>(types().size()) != row.min_operands) {
      return fail(fmt::format("takes {} operands, not {}", row.min_operands, types().size()));
    }
    op_.operand_count_ = static_cast<int8_t>(types().size());
    op_.result_type_ = signature_.result;
    for (size_t i = 0; i < types().size(); ++i) set_operand(i, types()[i]);
    switch (signature_.opcode) {
      case Opcode::kConvert:
        return convert();
      case Opcode::kSelect:
        return select();
      case Opcode::kStochasticConvert:
        return stochastic_convert();
      case Opcode::kReducePrecision:
        if (std::string wrong = set_fields(); !wrong.empty()) return fail(wrong);
        break;
      default:
        break;
    }
    if (std::any_of(types().begin(), types().end(),
                    [&](ElementType type) { return type != types()[0]; })) {
      return fail(fmt::format("takes operands of one type, not {}", names(types())));
    }
    return by_type(row_of_opcode());
  }

 private:
  std::span<const ElementType> types() const { return signature_.operands; }

  tl::unexpected<std::string> fail(std::string_view what) const {
    return tl::unexpected(fmt::format("{} {}", to_string(signature_.opcode), what));
  }

  void set_operand(size_t i, ElementType type, bool decoded = false) {
    op_.operands_[i] = {type, decoded, static_cast<uint8_t>(decoded ? 4 : info(type).bytes)};
  }

  const KernelRow* row_of_opcode() const {
    if (signature_.opcode == Opcode::kClamp) return &elementwise::clamp_row();
    if (signature_.opcode != Opcode::kCompare) return common_row(signature_.opcode);
    const bool total = is_total_order(signature_.attributes, types()[0]);
    return &elementwise::compare_row(get(signature_.attributes, attr::direction), total);
  }

  tl::expected<ElementwiseOp, std::string> by_type(const KernelRow* row) {
    const ElementType type = types()[0];
    if (!row) return fail("has no kernels");
    KernelEntry entry = (*row)[static_cast<size_t>(type)];
    if (!entry.kernel && is_mini_float(type)) {
      entry = (*row)[static_cast<size_t>(ElementType::F32)];
      for (size_t i = 0; i < types().size(); ++i) set_operand(i, type, true);
      if (entry.result == ElementType::F32) {
        entry.result = type;
        op_.encode_ = ElementwiseOp::Encode::kFromF32;
      }
    }
    if (!entry.kernel) return fail(fmt::format("does not take {}", to_string(type)));
    if (entry.result != signature_.result) {
      return fail(fmt::format("of {} gives {}, not {}", to_string(type), to_string(entry.result),
                              to_string(signature_.result)));
    }
    op_.kernel_ = entry.kernel;
    return op_;
  }

  tl::expected<ElementwiseOp, std::string> convert() {
    const ElementType from = types()[0];
    const ElementType to = signature_.result;
    if (from == to) {
      op_.kernel_ = elementwise::move_kernel(to);
      return op_;
    }
    set_operand(0, from, is_mini_float(from));
    const KernelEntry entry = elementwise::convert_kernel(from, to);
    op_.kernel_ = entry.kernel;
    if (is_mini_float(to)) {
      op_.encode_ = entry.result == ElementType::F32 ? ElementwiseOp::Encode::kFromF32
                                                     : ElementwiseOp::Encode::kFromF64;
      // What is encoded may be the operand itself.
      if (entry.result == (is_mini_float(from) ? ElementType::F32 : from)) op_.kernel_ = nullptr;
    }
    return op_;
  }

  tl::expected<ElementwiseOp, std::string> select() {
    if (types()[0] != ElementType::PRED || types()[1] != types()[2] ||
        types()[1] != signature_.result) {
      return fail(fmt::format("takes pred and two operands of the result's type, not {} for {}",
                              names(types()), to_string(signature_.result)));
    }
    op_.kernel_ = elementwise::select_row()[static_cast<size_t>(types()[1])].kernel;
    return op_;
  }

  tl::expected<ElementwiseOp, std::string> stochastic_convert() {
    op_.kernel_ = is_float(types()[0]) ? elementwise::stochastic_convert_kernel(
                                             types()[0], types()[1], signature_.result)
                                       : nullptr;
    if (!op_.kernel_) {
      return fail(
          fmt::format("takes a float and an unsigned type of its width and gives a signed "
                      "one, not {} for {}",
                      names(types()), to_string(signature_.result)));
    }
    set_operand(0, types()[0], is_mini_float(types()[0]));
    return op_;
  }

  /// What is wrong with the fields of a reduce-precision; they are cut to what the type has.
  std::string set_fields() {
    const int64_t exponent_bits = get(signature_.attributes, attr::exponent_bits);
    const int64_t mantissa_bits = get(signature_.attributes, attr::mantissa_bits);
    if (exponent_bits < 1) return "needs exponent_bits of at least 1";
    if (mantissa_bits < 0) return "needs mantissa_bits of at least 0";
    const ElementwiseParameters own = own_fields(types()[0]);
    op_.parameters_.exponent_bits =
        static_cast<int>(std::min<int64_t>(exponent_bits, own.exponent_bits));
    op_.parameters_.mantissa_bits =
        static_cast<int>(std::min<int64_t>(mantissa_bits, own.mantissa_bits));
    return {};
  }

  const ElementwiseSignature& signature_;
  ElementwiseOp op_;
};

tl::expected<ElementwiseOp, std::string> elementwise_op(const ElementwiseSignature& signature) {
  return ElementwiseLookup(signature).run();
}

tl::expected<ElementwiseOp, std::string> elementwise_op(const Instruction& instruction) {
  std::vector<ElementType> types;
  bool arrays = instruction.shape()->is_array();
  for (const Instruction* operand : instruction.operands()) {
    arrays = arrays && operand->shape()->is_array();
    types.push_back(operand->shape()->element_type());
  }
  if (!arrays) {
    return tl::unexpected(
        fmt::format("{} has operands or a result that are no arrays, so it is not applied to "
                    "elements",
                    to_string(instruction.opcode())));
  }
  return elementwise_op(ElementwiseSignature{
      instruction.opcode(), types, instruction.shape()->element_type(), instruction.attributes()});
}

}  // namespace minihlo
