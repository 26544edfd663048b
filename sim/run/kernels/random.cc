// rng-bit-generator: ThreeFry and Philox, bit for bit as XLA expands them
// (xla/hlo/builder/lib/prng.cc, xla/hlo/transforms/expanders/rng_bit_generator_expander.cc).
#include <algorithm>
#include <cstring>

#include "sim/run/kernel.h"
#include "sim/run/kernels/axes.h"

namespace minihlo {
namespace {

struct Words2 {
  uint32_t x0, x1;
};

Words2 threefry(uint64_t key, uint64_t counter) {
  const uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  const uint32_t keys[3] = {k0, k1, 0x1BD11BDAU ^ k0 ^ k1};
  static constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  uint32_t x0 = static_cast<uint32_t>(counter) + k0;
  uint32_t x1 = static_cast<uint32_t>(counter >> 32) + k1;
  for (uint32_t block = 1; block <= 5; ++block) {
    for (int rotation : kRotations[(block - 1) % 2]) {
      x0 += x1;
      x1 = (x1 << rotation | x1 >> (32 - rotation)) ^ x0;
    }
    x0 += keys[block % 3];
    x1 += keys[(block + 1) % 3] + block;
  }
  return {x0, x1};
}

struct Words4 {
  uint32_t x[4];
};

Words4 philox(uint64_t key, uint64_t low, uint64_t high) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  uint32_t x0 = static_cast<uint32_t>(low), x1 = static_cast<uint32_t>(low >> 32);
  uint32_t x2 = static_cast<uint32_t>(high), x3 = static_cast<uint32_t>(high >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53U} * x0, p1 = uint64_t{0xCD9E8D57U} * x2;
    x0 = static_cast<uint32_t>(p1 >> 32) ^ x1 ^ k0;
    x1 = static_cast<uint32_t>(p1);
    x2 = static_cast<uint32_t>(p0 >> 32) ^ x3 ^ k1;
    x3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{x0, x1, x2, x3}};
}

// Keeps the low bits of what was drawn; narrow signed values are sign-extended.
void put(uint64_t bits, ElementType type, std::byte* to) {
  const ElementTypeInfo& row = info(type);
  if (row.bits < 8) {
    bits &= (uint64_t{1} << row.bits) - 1;
    if (row.kind == ElementKind::kSigned && (bits >> (row.bits - 1) & 1)) {
      bits |= ~uint64_t{0} << row.bits;
    }
  }
  std::memcpy(to, &bits, static_cast<size_t>(row.bytes));
}

// The dimension along which 32-bit values are made in pairs: the first even one, else the largest.
size_t split_dimension(std::span<const int64_t> dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] % 2 == 0) return i;
  }
  return static_cast<size_t>(std::max_element(dims.begin(), dims.end()) - dims.begin());
}

// Work that fills `result`; returns by how much the counter goes on.
uint64_t add_threefry(KernelCall& call, const Shape* shape, uint64_t key, uint64_t counter,
                      const Buffer& result) {
  const ElementType type = shape->element_type();
  const int64_t width = info(type).bytes, count = shape->element_count();
  std::byte* to = Buffer(result).mutable_data();
  if (width == 8) {
    call.add(count, 64, [=, keep = result](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        Words2 words = threefry(key, counter + static_cast<uint64_t>(i));
        put(words.x0 | uint64_t{words.x1} << 32, type, to + i * width);
      }
    });
    return static_cast<uint64_t>(count);
  }
  if (shape->rank() == 0) {
    put(threefry(key, counter).x0, type, to);
    return 1;
  }
  const size_t axis = split_dimension(shape->dims());
  const int64_t size = shape->dims()[axis], half = (size + 1) / 2;
  const int64_t inner = row_major_strides(shape->dims())[axis];
  const int64_t halves = size == 0 ? 0 : count / size * half;
  call.add(halves, 64, [=, keep = result](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Words2 words = threefry(key, counter + static_cast<uint64_t>(i));
      const int64_t at = i / inner % half * 2;
      const int64_t place = i / inner / half * size * inner + at * inner + i % inner;
      put(words.x0, type, to + place * width);
      if (at + 1 < size) put(words.x1, type, to + (place + inner) * width);
    }
  });
  return static_cast<uint64_t>(halves);
}

uint64_t add_philox(KernelCall& call, const Shape* shape, uint64_t key, uint64_t low, uint64_t high,
                    const Buffer& result) {
  const ElementType type = shape->element_type();
  const int64_t width = info(type).bytes, count = shape->element_count();
  const int64_t each = width == 8 ? 2 : 4;  // elements a block gives
  const int64_t blocks = (count + each - 1) / each;
  std::byte* to = Buffer(result).mutable_data();
  call.add(blocks, 64, [=, keep = result](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const uint64_t at = low + static_cast<uint64_t>(i);
      Words4 words = philox(key, at, high + (at < low ? 1 : 0));
      for (int64_t k = 0; k < each && i * each + k < count; ++k) {
        uint64_t bits =
            each == 2 ? words.x[2 * k] | uint64_t{words.x[2 * k + 1]} << 32 : words.x[k];
        put(bits, type, to + (i * each + k) * width);
      }
    }
  });
  return static_cast<uint64_t>(blocks);
}

}  // namespace

KernelResult rng_bit_generator_kernel(KernelCall& call) {
  const Shape* shape = call.instruction.shape();
  const Shape* state_shape = call.operand_shape(0);
  const RandomAlgorithm algorithm = call.instruction.get(attr::rng_algorithm);
  const bool is_threefry = algorithm == RandomAlgorithm::kThreeFry;
  const int64_t words = state_shape->byte_count() / 8;
  if (!shape->is_tuple() || shape->elements().size() != 2 || words < 2 ||
      is_complex(shape->element(1)->element_type()) ||
      shape->element(1)->element_type() == ElementType::PRED) {
    return tl::unexpected(
        Stop::unsupported("rng-bit-generator", "a state or result of an unusual shape"));
  }
  auto old_state = call.dense(0);
  if (!old_state) return tl::unexpected(std::move(old_state.error()));
  auto state = call.allocate(shape->element(0));
  if (!state) return tl::unexpected(std::move(state.error()));
  auto bits = call.allocate(shape->element(1));
  if (!bits) return tl::unexpected(std::move(bits.error()));
  std::memcpy(state->mutable_data(), old_state->data(), static_cast<size_t>(state->size()));
  uint64_t word[3] = {};
  std::memcpy(word, old_state->data(), static_cast<size_t>(std::min<int64_t>(words, 3)) * 8);
  if (is_threefry) {
    word[1] += add_threefry(call, shape->element(1), word[0], word[1], *bits);
  } else {
    // Of two words the key is the counter's high half too.
    const uint64_t high = words == 2 ? word[0] : word[2];
    const uint64_t low = word[1];
    word[1] += add_philox(call, shape->element(1), word[0], low, high, *bits);
    word[2] = high + (word[1] < low ? 1 : 0);
  }
  std::memcpy(state->mutable_data(), word,
              static_cast<size_t>(std::min<int64_t>(words, is_threefry ? 2 : 3)) * 8);
  call.results = {*std::move(state), *std::move(bits)};
  return {};
}

}  // namespace minihlo
