// bitcast and bitcast-convert: the same bits under another type.
#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "ir/semantics/movement.h"
#include "sim/run/kernel.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

Stop unsupported(const KernelCall& call, std::string_view why) {
  return Stop::unsupported(std::string(to_string(call.instruction.opcode())),
                           fmt::format("{}: {}", instruction_place(call.instruction), why));
}

// Reads `bits` low bits of a value kept in `bytes` bytes.
uint64_t load(const std::byte* from, int bits, int bytes) {
  uint64_t value = 0;
  std::memcpy(&value, from, static_cast<size_t>(bytes));
  return bits == 64 ? value : value & ((uint64_t{1} << bits) - 1);
}

void store(uint64_t value, ElementType type, std::byte* to) {
  const ElementTypeInfo& row = info(type);
  if (row.bits < 8 && row.kind == ElementKind::kSigned && (value >> (row.bits - 1) & 1)) {
    value |= ~uint64_t{0} << row.bits;
  }
  std::memcpy(to, &value, static_cast<size_t>(row.bytes));
}

// Groups of `ratio` narrow elements, the first least significant, against one wide element.
void repack(KernelCall& call, const Buffer& from, ElementType from_type, const Buffer& to,
            ElementType to_type) {
  const ElementTypeInfo source = info(from_type), target = info(to_type);
  const int64_t ratio = std::max(source.bits, target.bits) / std::min(source.bits, target.bits);
  const bool widens = target.bits > source.bits;
  std::byte* out = Buffer(to).mutable_data();
  int64_t groups = to.size() / target.bytes / (widens ? 1 : ratio);
  call.add(groups, ratio * 4, [=, keep = to](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (widens) {
        uint64_t value = 0;
        for (int64_t k = 0; k < ratio; ++k) {
          value |= load(from.data() + (i * ratio + k) * source.bytes, source.bits, source.bytes)
                   << (k * source.bits);
        }
        store(value, to_type, out + i * target.bytes);
      } else {
        uint64_t value = load(from.data() + i * source.bytes, source.bits, source.bytes);
        for (int64_t k = 0; k < ratio; ++k) {
          uint64_t mask = target.bits == 64 ? ~uint64_t{0} : (uint64_t{1} << target.bits) - 1;
          store(value >> (k * target.bits) & mask, to_type, out + (i * ratio + k) * target.bytes);
        }
      }
    }
  });
}

// The elements of `from` in row-major order of their bits, as elements of `type`.
tl::expected<Buffer, Stop> reinterpret(KernelCall& call, const Buffer& from, ElementType from_type,
                                       ElementType type, int64_t bytes) {
  const ElementTypeInfo &source = info(from_type), &target = info(type);
  if (from_type == type || (source.bits % 8 == 0 && target.bits % 8 == 0)) return from;
  if (is_complex(from_type) || is_complex(type)) {
    return tl::unexpected(unsupported(call, "complex elements against parts of a byte"));
  }
  auto result = call.allocate(bytes);
  if (!result) return result;
  repack(call, from, from_type, *result, type);
  call.next_stage();
  return result;
}

}  // namespace

KernelResult bitcast_convert_kernel(KernelCall& call) {
  const Shape* from = call.operand_shape(0);
  const Shape* to = call.instruction.shape();
  const ElementTypeInfo &source = info(from->element_type()), &target = info(to->element_type());
  Buffer operand = call.operands[0];
  if (source.bits != target.bits || source.bits % 8 != 0) {
    auto dense = call.dense(0);
    if (!dense) return tl::unexpected(std::move(dense.error()));
    operand = *std::move(dense);
  }
  auto result =
      reinterpret(call, operand, from->element_type(), to->element_type(), to->byte_count());
  if (!result) return tl::unexpected(std::move(result.error()));
  call.results.push_back(*std::move(result));
  return {};
}

KernelResult bitcast_kernel(KernelCall& call) {
  const Shape* from = call.operand_shape(0);
  const Shape* to = call.instruction.shape();
  if (!to->is_array() || !from->is_array()) {
    return tl::unexpected(unsupported(call, "only arrays have bits"));
  }
  int64_t from_bits = info(from->element_type()).bits, to_bits = info(to->element_type()).bits;
  int64_t wide = std::max(from_bits, to_bits), narrow = std::min(from_bits, to_bits);
  int64_t narrow_count = (to_bits > from_bits ? from : to)->element_count();
  int64_t wide_count = (to_bits > from_bits ? to : from)->element_count();
  if (wide % narrow != 0 || narrow_count % (wide / narrow) != 0 ||
      narrow_count / (wide / narrow) != wide_count) {
    return tl::unexpected(unsupported(call, "the number of bits changes"));
  }
  auto operand = call.dense(0);
  if (!operand) return tl::unexpected(std::move(operand.error()));
  Buffer value = *operand;
  auto move = [&](const Movement& movement, ElementType type) -> KernelResult {
    if (movement.is_identity()) return {};
    int64_t width = info(type).bytes;
    auto moved = call.allocate(value.size());
    if (!moved) return tl::unexpected(std::move(moved.error()));
    add_movement(call, movement, *moved, width, {}, [&](const Box&) { return value; });
    call.next_stage();
    value = *std::move(moved);
    return {};
  };
  if (KernelResult done = move(into_physical(from), from->element_type()); !done) return done;
  auto bits = reinterpret(call, value, from->element_type(), to->element_type(), to->byte_count());
  if (!bits) return tl::unexpected(std::move(bits.error()));
  value = *std::move(bits);
  if (KernelResult done = move(out_of_physical(to), to->element_type()); !done) return done;
  call.results.push_back(std::move(value));
  return {};
}

}  // namespace minihlo
