#include "sim/run/inputs.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "ir/numbers.h"
#include "sim/run/buffer.h"
#include "sim/run/workers.h"

namespace minihlo {
namespace {

constexpr uint64_t kScalarValues = 8;

// splitmix64's finalizer.
uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31);
}

// A permutation of [0, 2^bits) that depends on the seed. Numbers beyond are scattered, block by
// block: devices whose values must repeat do not repeat each other.
struct Permutation {
  Permutation(uint64_t seed, int bits)
      : mask(bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1),
        bits(bits),
        factor(mixed(seed) | 1),
        offset(mixed(seed + 1)),
        shift(std::max(1, bits / 2)) {}
  uint64_t operator()(uint64_t x) const {
    uint64_t block = bits >= 64 ? 0 : x >> bits;
    if (block != 0) x ^= mixed(block);
    x = (x * factor + offset) & mask;
    x ^= x >> shift;
    return (x * (factor ^ 0x5851F42D4C957F2CU)) & mask;
  }
  uint64_t mask;
  int bits;
  uint64_t factor, offset;
  int shift;
};

// Integers from -2^k to 2^k - 1 are exact in a float type.
template <class T>
int exact_bits() {
  if constexpr (std::is_same_v<T, double>) {
    return 52;
  } else if constexpr (std::is_same_v<T, float>) {
    return 23;
  } else {
    int by_mantissa = T::kMantissaBits;
    int by_range = static_cast<int>(std::floor(
        std::log2(static_cast<double>(T::from_bits(static_cast<typename T::Bits>(T::kMax))))));
    return std::min(by_mantissa, by_range);
  }
}

template <class T>
T value_of(uint64_t number, const Permutation& permutation) {
  if constexpr (std::is_same_v<T, Pred>) {
    return Pred((mixed(permutation(number)) & 1) != 0);
  } else if constexpr (std::is_same_v<T, F8E8M0FNU>) {
    return T(std::ldexp(1.0F, static_cast<int>(permutation(number) & 7) - 4));
  } else if constexpr (std::is_floating_point_v<T> || IsMiniFloat<T>::value) {
    // Around zero; more than eight bits are fractions.
    int bits = std::bit_width(permutation.mask);
    double centred = static_cast<double>(permutation(number)) - std::ldexp(1.0, bits - 1);
    double value = bits > 8 ? std::ldexp(centred, 8 - bits) : centred;
    if constexpr (IsMiniFloat<T>::value)
      return T(static_cast<float>(value));
    else
      return static_cast<T>(value);
  } else {
    uint64_t value = permutation(number);
    if constexpr (is_signed(element_type_of<T>)) value -= (permutation.mask >> 1) + 1;
    return T(static_cast<int64_t>(value));
  }
}

template <class T>
int room() {
  if constexpr (std::is_same_v<T, Pred> || std::is_same_v<T, F8E8M0FNU>)
    return 32;
  else if constexpr (std::is_floating_point_v<T> || IsMiniFloat<T>::value)
    return exact_bits<T>() + 1;
  else
    return info(element_type_of<T>).bits;
}

template <class T>
void fill(const Shape* shape, uint64_t seed, int64_t first, int64_t count, int64_t total,
          std::byte* values) {
  T* out = reinterpret_cast<T*>(values);
  if (shape->is_scalar() && is_integer(shape->element_type())) {
    for (int64_t i = 0; i < count; ++i) {
      uint64_t value = mixed(seed + static_cast<uint64_t>(first + i)) % kScalarValues;
      if constexpr (std::is_integral_v<T> || IsNarrowInt<T>::value) out[i] = T(value);
    }
    return;
  }
  // As many values as there are numbers, and at least 256 where the type has them.
  int wanted = std::max(8, static_cast<int>(std::bit_width(static_cast<uint64_t>(total))));
  Permutation permutation(seed, std::min(room<T>(), wanted));
  for (int64_t i = 0; i < count; ++i) {
    out[i] = value_of<T>(static_cast<uint64_t>(first + i), permutation);
  }
}

}  // namespace

void fill_seeded(const Shape* shape, uint64_t seed, int64_t first, int64_t count, int64_t total,
                 std::byte* values) {
  dispatch(shape->element_type(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, std::complex<float>>) {
      fill<float>(shape, seed, 2 * first, 2 * count, 2 * total, values);
    } else if constexpr (std::is_same_v<T, std::complex<double>>) {
      fill<double>(shape, seed, 2 * first, 2 * count, 2 * total, values);
    } else {
      fill<T>(shape, seed, first, count, total, values);
    }
  });
}

tl::expected<Inputs, Stop> make_inputs(
    const Module& module, const Mesh& mesh, uint64_t seed, int64_t max_bytes, int threads,
    std::optional<std::chrono::steady_clock::time_point> deadline) {
  std::vector<const Shape*> leaves;
  for (const Instruction* parameter : module.entry()->parameters()) {
    std::ranges::copy_if(leaf_shapes(parameter->shape()), std::back_inserter(leaves),
                         [](const Shape* leaf) { return !leaf->is_token(); });
  }
  int64_t left = max_bytes;
  int64_t elements = 0;
  for (const Shape* leaf : leaves) {
    if (!leaf->is_array() ||
        std::ranges::find(leaf->dims(), kUnboundedSize) != leaf->dims().end()) {
      return tl::unexpected(Stop::unsupported(
          "dynamic shapes", fmt::format("no inputs can be made for {}", to_string(leaf))));
    }
    if (leaf->byte_count() > left / mesh.device_count()) {
      return tl::unexpected(Stop{
          Stop::Kind::kMemory,
          fmt::format("the inputs need more than the {} bytes ({}) that are allowed "
                      "(--max-memory): {} on {} device{}{}",
                      max_bytes, bytes_text(max_bytes), to_string(leaf), mesh.device_count(),
                      mesh.device_count() == 1 ? "" : "s", leaves.size() > 1 ? " among them" : ""),
          {}});
    }
    left -= leaf->byte_count() * mesh.device_count();
    elements += leaf->element_count();
  }
  Inputs inputs(static_cast<size_t>(mesh.device_count()));
  // Numbers go on from leaf to leaf and device to device, so that all values differ.
  const int64_t total = elements * mesh.device_count();
  int64_t first = 0;
  std::vector<Work> works;
  Workers workers(threads, deadline);
  for (std::vector<HostTensor>& device : inputs) {
    for (const Shape* leaf : leaves) {
      if (works.size() % 1024 == 1023 && workers.is_late()) {
        return tl::unexpected(*workers.run({}));
      }
      std::shared_ptr<std::byte> data = allocate_host(leaf->byte_count());
      if (!data) {
        return tl::unexpected(Stop{Stop::Kind::kMemory, "no memory for the inputs", {}});
      }
      constexpr int64_t kCost = 16;
      works.push_back(
          {leaf->element_count(), kCost, [=, to = data.get()](int64_t begin, int64_t end) {
             fill_seeded(leaf, seed, first + begin, end - begin, total,
                         to + begin * info(leaf->element_type()).bytes);
           }});
      first += leaf->element_count();
      device.push_back({leaf->element_type(),
                        {leaf->dims().begin(), leaf->dims().end()},
                        std::move(data),
                        leaf->byte_count()});
    }
  }
  if (auto stop = workers.run(works)) return tl::unexpected(*std::move(stop));
  return inputs;
}

}  // namespace minihlo
