#include "tools/tensors/stored_tensor.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/row_major.h"
#include "ir/semantics/movement.h"

namespace minihlo {
namespace {

bool is_byte_integer(ElementType type) {
  return type == ElementType::U8 || type == ElementType::S8;
}

// Whether elements of a stored type may be those of `wanted`, one for one.
bool stands_for(ElementType stored, ElementType wanted) {
  if (stored == wanted) return true;
  const ElementTypeInfo& type = info(wanted);
  if (is_integer(wanted)) return type.bits < 8 && is_byte_integer(stored);
  if (!is_float(wanted)) return false;
  if (type.bytes == 1) return stored == ElementType::U8;
  return wanted == ElementType::BF16 && stored == ElementType::U16;
}

// Whether pairs of a stored type along a last dimension are complex numbers of type `wanted`.
bool pairs_stand_for(const StoredTensor& stored, ElementType wanted,
                     std::span<const int64_t> dims) {
  if (!is_complex(wanted) || stored.dims.empty() || stored.dims.back() != 2) return false;
  return is_float(stored.type) && info(stored.type).bits * 2 == info(wanted).bits &&
         std::ranges::equal(std::span(stored.dims).first(stored.dims.size() - 1), dims);
}

void swap_bytes(std::span<std::byte> bytes, int64_t width) {
  for (size_t at = 0; at < bytes.size(); at += static_cast<size_t>(width)) {
    std::ranges::reverse(bytes.subspan(at, static_cast<size_t>(width)));
  }
}

// One element a byte of `count` that follow one another bit by bit.
void unpack(std::span<const std::byte> packed, int bits, std::span<std::byte> out) {
  const unsigned mask = (1U << bits) - 1;
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t at = i * static_cast<size_t>(bits);
    unsigned word = static_cast<unsigned>(packed[at / 8]);
    if (at / 8 + 1 < packed.size()) word |= static_cast<unsigned>(packed[at / 8 + 1]) << 8;
    out[i] = static_cast<std::byte>(word >> at % 8 & mask);
  }
}

// From column-major into row-major order.
void transpose(std::span<const int64_t> dims, int64_t width, const std::byte* from, std::byte* to) {
  StridedCopy copy;
  int64_t from_stride = 1;
  const std::vector<int64_t> to_strides = row_major_strides(dims);
  for (size_t i = 0; i < dims.size(); ++i) {
    copy.axes.push_back({dims[i], to_strides[i], from_stride});
    from_stride *= dims[i];
  }
  copy_strided(copy, from, to, width);
}

}  // namespace

std::string type_text(ElementType type, std::span<const int64_t> dims) {
  return fmt::format("{}[{}]", to_string(type), fmt::join(dims, ","));
}

std::optional<int64_t> stored_bytes(ElementType type, std::span<const int64_t> dims,
                                    bool is_packed) {
  int64_t count = is_packed ? info(type).bits : info(type).bytes;
  for (int64_t dim : dims) {
    if (dim < 0 || __builtin_mul_overflow(count, dim, &count)) return std::nullopt;
  }
  if (!is_packed) return count;
  return count % 8 == 0 ? std::optional(count / 8) : std::nullopt;
}

int64_t StoredTensor::stored_bytes() const {
  return minihlo::stored_bytes(type, dims, is_packed).value_or(0);
}

tl::expected<HostTensor, std::string> to_host(const StoredTensor& stored, ElementType type,
                                              std::span<const int64_t> dims) {
  const bool in_pairs = pairs_stand_for(stored, type, dims);
  if (!in_pairs && !(stands_for(stored.type, type) && std::ranges::equal(stored.dims, dims))) {
    const std::string text = type_text(stored.type, stored.dims);
    return tl::unexpected(
        fmt::format("{} is needed, not {} ('{}')", type_text(type, dims), text, stored.type_text));
  }
  HostTensor result{type, {dims.begin(), dims.end()}, nullptr, 0};
  const auto bytes = minihlo::stored_bytes(type, dims);
  if (!bytes) return tl::unexpected(fmt::format("{} is too large", type_text(type, dims)));
  result.bytes = *bytes;
  auto allocated = [](int64_t size) -> tl::expected<std::shared_ptr<std::byte>, std::string> {
    std::shared_ptr<std::byte> memory = allocate_host(size);
    if (!memory) return tl::unexpected(fmt::format("there is no memory for {} bytes", size));
    return memory;
  };
  auto memory = allocated(result.bytes);
  if (!memory) return tl::unexpected(std::move(memory.error()));
  std::byte* const data = memory->get();
  const auto size = static_cast<size_t>(result.bytes);

  // What has to be brought into another order is read into memory of its own first.
  if (stored.is_packed || stored.is_column_major) {
    const auto raw_size = static_cast<size_t>(stored.stored_bytes());
    auto raw = allocated(static_cast<int64_t>(raw_size));
    if (!raw) return tl::unexpected(std::move(raw.error()));
    const std::span<std::byte> all(raw->get(), raw_size);
    if (std::string wrong = stored.read(all); !wrong.empty()) return tl::unexpected(wrong);
    if (stored.is_packed) {
      unpack(all, info(stored.type).bits, {data, size});
    } else if (in_pairs && result.bytes > 0) {
      // The parts of all numbers follow one another, first the real ones.
      transpose(stored.dims, info(stored.type).bytes, raw->get(), data);
    } else if (result.bytes > 0) {
      transpose(dims, info(type).bytes, raw->get(), data);
    }
  } else if (std::string wrong = stored.read({data, size}); !wrong.empty()) {
    return tl::unexpected(wrong);
  }
  if (stored.is_big_endian) {
    swap_bytes({data, size},
               is_complex(stored.type) ? info(stored.type).bytes / 2 : info(stored.type).bytes);
  }
  if (const std::optional<int64_t> at = normalize(type, {data, size})) {
    return tl::unexpected(fmt::format("element [{}] is no value of {}",
                                      fmt::join(multi_index(*at, dims), ","), to_string(type)));
  }
  result.data = *std::move(memory);
  return result;
}

}  // namespace minihlo
