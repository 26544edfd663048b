#include "sim/run/random_numbers.h"

#include <cmath>
#include <cstring>
#include <numbers>

#include <fmt/format.h>

#include "ir/module.h"
#include "ir/numbers.h"
#include "ir/semantics/elementwise.h"
#include "sim/walk.h"

namespace minihlo {
namespace {

// SplitMix64: a bijection that spreads its argument over all bits.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9U;
  x = (x ^ x >> 27) * 0x94D049BB133111EBU;
  return x ^ x >> 31;
}

// In [0, 1), all 53 bits.
double unit(uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

template <class T>
double as_double(const Buffer& buffer) {
  T value;
  std::memcpy(&value, buffer.data(), sizeof(T));
  return static_cast<double>(value);
}

double normal(uint64_t key, uint64_t i) {
  const double radius = std::sqrt(-2 * std::log(1 - unit(mix(key + 2 * i))));
  return radius * std::cos(2 * std::numbers::pi * unit(mix(key + 2 * i + 1)));
}

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || IsMiniFloat<T>::value;

// Element i, or false where the distribution has none of the type.
template <class T>
bool draw_one(RandomDistribution distribution, const Buffer& a, const Buffer& b, ElementType type,
              uint64_t key, uint64_t i, T& out) {
  const bool uniform = distribution == RandomDistribution::kUniform;
  if constexpr (kIsFloat<T>) {
    const double low = as_double<T>(a), high = as_double<T>(b);
    if (!uniform) {
      out = static_cast<T>(low + high * normal(key, i));
      return true;
    }
    const double value = low + (high - low) * unit(mix(key + i));
    out = static_cast<T>(value);
    if (!(static_cast<double>(out) < high)) out = static_cast<T>(low);
    return true;
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    if (uniform) return false;
    T mean, deviation;
    std::memcpy(&mean, a.data(), sizeof(T));
    std::memcpy(&deviation, b.data(), sizeof(T));
    using Part = typename T::value_type;
    out = mean + deviation * T(static_cast<Part>(normal(key, 2 * i)),
                               static_cast<Part>(normal(key, 2 * i + 1)));
    return true;
  } else if constexpr (std::is_same_v<T, Pred>) {
    if (!uniform) return false;
    out = static_cast<T>((mix(key + i) & 1) != 0);
    return true;
  } else {
    if (!uniform) return false;
    const int64_t low = integer_at(a, type), high = integer_at(b, type);
    const uint64_t range =
        low < high ? static_cast<uint64_t>(high) - static_cast<uint64_t>(low) : 1;
    out = static_cast<T>(static_cast<uint64_t>(low) + mix(key + i) % range);
    return true;
  }
}

}  // namespace

tl::expected<DeviceVector<Buffer>, Stop> RandomNumbers::draw(const Instruction& rng,
                                                             RunContext& context,
                                                             const DeviceVector<Buffer>& a,
                                                             const DeviceVector<Buffer>& b,
                                                             std::span<const int> devices) {
  const Shape* shape = rng.shape();
  const RandomDistribution distribution = rng.get(attr::distribution);
  const uint64_t place = uint64_t{rng.parent()->number()} << 32 | rng.number();
  std::vector<Buffer> values;
  std::vector<Work> works;
  for (size_t at = 0; at < devices.size(); ++at) {
    const uint64_t time = times_[{&rng, devices[at]}]++;
    const uint64_t key =
        mix(mix(mix(mix(context.seed) ^ static_cast<uint64_t>(devices[at])) ^ place) ^ time);
    auto buffer = allocate_for(rng, context, shape->byte_count());
    if (!buffer) return tl::unexpected(std::move(buffer.error()));
    bool known = dispatch(shape->element_type(), [&]<class T>(std::type_identity<T>) {
      T probe;
      if (!draw_one<T>(distribution, a[at], b[at], shape->element_type(), key, 0, probe)) {
        return false;
      }
      T* to = reinterpret_cast<T*>(buffer->mutable_data());
      works.push_back({shape->element_count(), 64,
                       [=, type = shape->element_type(), from = a[at], until = b[at]](int64_t begin,
                                                                                      int64_t end) {
                         for (int64_t i = begin; i < end; ++i) {
                           draw_one<T>(distribution, from, until, type, key,
                                       static_cast<uint64_t>(i), to[i]);
                         }
                       }});
      return true;
    });
    if (!known) {
      return tl::unexpected(Stop::unsupported(
          "rng", fmt::format("{}: there is no such distribution of {}", instruction_place(rng),
                             to_string(shape->element_type()))));
    }
    values.push_back(*std::move(buffer));
  }
  if (auto stop = context.workers.run(works)) return tl::unexpected(*std::move(stop));
  return DeviceVector<Buffer>(std::move(values));
}

}  // namespace minihlo
