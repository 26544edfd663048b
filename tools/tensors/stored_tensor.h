// Tensors as files hold them, and what they are as arrays of HLO.
//
// Files know fewer element types than HLO. What a type is stored as, and what else is taken for it:
//
//   u1, u2, u4, s1, s2, s4    uint8 or int8, the value, or its bits with or without extension
//   f4*, f6*, f8*             a type of its own where the file has one, else a byte with its bits
//   bf16                      a type of its own where the file has one, else two bytes with its
//   bits c64, c128                 a type of its own, or two floats: one more dimension, of size 2
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "sim/run/tensor.h"

namespace minihlo {

struct StoredTensor {
  std::string name;
  ElementType type = ElementType::U8;  // u8 and u16 also for bytes without a meaning
  std::string type_text;               // as the file spells it: "<V2", "BF16"
  std::vector<int64_t> dims;
  bool is_packed = false;  // elements follow one another bit by bit, lowest first
  bool is_big_endian = false;
  bool is_column_major = false;
  /// Fills memory of stored_bytes() bytes; says what is wrong, or nothing.
  std::function<std::string(std::span<std::byte>)> read;

  int64_t stored_bytes() const;
};

/// A tensor to be written, and what it is to be called.
struct NamedTensor {
  std::string name;
  HostTensor tensor;
};

/// How many bytes elements of a type and dimensions take in a file; nothing where that does not fit
/// 63 bits, a dimension is negative or packed elements leave bits over.
std::optional<int64_t> stored_bytes(ElementType type, std::span<const int64_t> dims,
                                    bool is_packed = false);

/// The array that a stored tensor is, as an array of `type` and `dims`. An error says what it is
/// instead, or what could not be read.
tl::expected<HostTensor, std::string> to_host(const StoredTensor& stored, ElementType type,
                                              std::span<const int64_t> dims);

/// "f32[2,3]".
std::string type_text(ElementType type, std::span<const int64_t> dims);

}  // namespace minihlo
