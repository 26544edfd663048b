#include "sim/run/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/numbers.h"
#include "ir/text/element_text.h"
#include "ir/text/text_buffer.h"
#include "sim/run/host_memory.h"

namespace minihlo {
namespace {

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || IsMiniFloat<T>::value;
template <class T>
inline constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// The bits of a float as a number that counts the values of its type in order.
template <class T>
int64_t rank_of(T value) {
  int64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  constexpr int kWidth = info(element_type_of<T>).bits;
  const int64_t sign = int64_t{1} << (kWidth - 1);
  if constexpr (kWidth == 64) {
    return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
  } else {
    return bits & sign ? -(bits & (sign - 1)) : bits;
  }
}

template <class T>
bool same_float(T a, T b, const CompareRule& rule) {
  if (std::memcmp(&a, &b, sizeof(T)) == 0) return true;
  const double x = static_cast<double>(a), y = static_cast<double>(b);
  if (std::isnan(x) || std::isnan(y)) {
    return std::isnan(x) && std::isnan(y) && !rule.nan_payload;
  }
  switch (rule.kind) {
    case CompareRule::Kind::kBits:
      return false;
    case CompareRule::Kind::kTolerance:
      if (x == y) return true;
      return std::fabs(x - y) <= rule.absolute + rule.relative * std::fabs(x) && !std::isinf(x) &&
             !std::isinf(y);
    case CompareRule::Kind::kUlp: {
      int64_t p = rank_of(a), q = rank_of(b);
      if ((p < 0) != (q < 0))
        return std::fabs(static_cast<double>(p) - static_cast<double>(q)) <=
               static_cast<double>(rule.ulp);
      return (p > q ? p - q : q - p) <= rule.ulp;
    }
  }
  return false;
}

// Complex numbers differ by their distance.
template <class T>
bool same_complex(T a, T b, const CompareRule& rule) {
  using Part = typename T::value_type;
  if (same_float<Part>(a.real(), b.real(), rule) && same_float<Part>(a.imag(), b.imag(), rule)) {
    return true;
  }
  if (rule.kind != CompareRule::Kind::kTolerance) return false;
  const std::complex<double> x(a), y(b);
  double distance = std::abs(x - y);
  return std::isfinite(distance) && distance <= rule.absolute + rule.relative * std::abs(x);
}

template <class T>
bool same(const T& a, const T& b, const CompareRule& rule) {
  if constexpr (kIsFloat<T>) {
    return same_float(a, b, rule);
  } else if constexpr (kIsComplex<T>) {
    return same_complex(a, b, rule);
  } else if constexpr (std::is_same_v<T, Pred>) {
    return static_cast<bool>(a) == static_cast<bool>(b);
  } else {
    return std::memcmp(&a, &b, sizeof(T)) == 0;
  }
}

template <class T>
double distance_of(const T& a, const T& b) {
  double distance;
  if constexpr (kIsComplex<T>) {
    distance = std::abs(std::complex<double>(a) - std::complex<double>(b));
  } else {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    // Of two NaNs the bits differ.
    distance = std::isnan(x) && std::isnan(y) ? 0 : std::fabs(x - y);
  }
  return std::isnan(distance) ? std::numeric_limits<double>::infinity() : distance;
}

template <class T>
double ulps_between(const T& a, const T& b) {
  if constexpr (kIsComplex<T>) {
    return std::max(ulps_between(a.real(), b.real()), ulps_between(a.imag(), b.imag()));
  } else if constexpr (kIsFloat<T>) {
    return std::fabs(static_cast<double>(rank_of(a)) - static_cast<double>(rank_of(b)));
  } else {
    return 0;
  }
}

template <class T>
T element(const HostTensor& tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.data.get() + index * int64_t{sizeof(T)}, sizeof(T));
  return value;
}

}  // namespace

std::shared_ptr<std::byte> allocate_host(int64_t bytes) {
  const int64_t size = std::max<int64_t>(1, bytes);
  std::byte* data = take_memory(size);
  if (!data) return nullptr;
  return {data, [size](std::byte* memory) { give_memory(memory, size); }};
}

std::optional<int64_t> normalize(ElementType type, std::span<std::byte> elements) {
  std::optional<int64_t> odd;
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    constexpr int kBits = info(element_type_of<T>).bits;
    constexpr bool kIsPred = std::is_same_v<T, Pred>;
    if constexpr (kBits < 8 || kIsPred) {
      constexpr unsigned kMask = kIsPred ? 0xFF : (1U << kBits) - 1;
      for (size_t i = 0; i < elements.size(); ++i) {
        const auto byte = static_cast<uint8_t>(elements[i]);
        uint8_t value = byte & kMask;
        if constexpr (kIsPred) {
          value = byte != 0;
        } else if constexpr (is_signed(element_type_of<T>)) {
          value = static_cast<uint8_t>(T(byte).value);
        }
        if (!odd && byte != value && byte != (value & kMask)) odd = static_cast<int64_t>(i);
        elements[i] = static_cast<std::byte>(value);
      }
    }
  });
  return odd;
}

std::string problem_of(const CompareRule& rule) {
  auto good = [](double value) { return std::isfinite(value) && value >= 0; };
  if (!good(rule.relative) || !good(rule.absolute)) {
    return "a tolerance is a number that is not negative";
  }
  return rule.ulp < 0 ? "a number of ulps is not negative" : "";
}

Difference compare(const HostTensor& expected, const HostTensor& actual, const CompareRule& rule) {
  Difference result;
  if (expected.type != actual.type || expected.dims != actual.dims) {
    result.what = fmt::format("expected {}[{}], got {}[{}]", to_string(expected.type),
                              fmt::join(expected.dims, ","), to_string(actual.type),
                              fmt::join(actual.dims, ","));
    return result;
  }
  dispatch(expected.type, [&]<class T>(std::type_identity<T>) {
    int64_t count = expected.element_count();
    for (int64_t i = 0; i < count; ++i) {
      const T a = element<T>(expected, i), b = element<T>(actual, i);
      if (same(a, b, rule)) continue;
      if (result.count++ == 0) result.index = i;
      const double distance = distance_of(a, b);
      const double ulps = ulps_between(a, b);
      const bool is_worse =
          rule.kind == CompareRule::Kind::kUlp ? ulps > result.ulps : distance > result.distance;
      if (result.count > 1 && !is_worse) continue;
      result.worst = i;
      result.distance = distance;
      result.ulps = ulps;
    }
  });
  return result;
}

std::string element_text(const HostTensor& tensor, int64_t index) {
  std::string text;
  {
    internal::TextBuffer out(text);
    dispatch(tensor.type, [&]<class T>(std::type_identity<T>) {
      internal::append_element(out, element<T>(tensor, index), true);
    });
  }
  return text;
}

}  // namespace minihlo
