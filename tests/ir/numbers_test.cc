#include "ir/numbers.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace minihlo {
namespace {

// Calls `visit` with every float type of at most 16 bits.
template <class Visitor>
void for_each_mini_float(Visitor visit) {
  for (int i = 0; i < kElementTypeCount; ++i) {
    dispatch(static_cast<ElementType>(i), [&]<class T>(std::type_identity<T>) {
      if constexpr (IsMiniFloat<T>::value) {
        INFO(std::string(to_string(element_type_of<T>)));
        visit(std::type_identity<T>{});
      }
    });
  }
}

template <class T>
constexpr uint32_t kPatterns = (T::kMagnitudeMask | T::kSignMask) + 1;

// What a bit pattern means by the definition of its format, in one formula a case.
template <class T>
double reference_value(uint32_t bits) {
  const double sign = bits & T::kSignMask ? -1 : 1;
  const uint32_t magnitude = bits & T::kMagnitudeMask;
  const int exponent = static_cast<int>(magnitude >> T::kMantissaBits);
  const int fraction = static_cast<int>(magnitude & ((1u << T::kMantissaBits) - 1));
  const int top = (1 << T::kExponentBits) - 1;
  switch (T::kKind) {
    case FloatKind::kIeee:
      if (exponent == top) return fraction ? NAN : sign * INFINITY;
      break;
    case FloatKind::kFn:
      if (magnitude == T::kMagnitudeMask) return NAN;
      break;
    case FloatKind::kFnuz:
      if (bits == T::kSignMask) return NAN;
      break;
    case FloatKind::kFinite:
      break;
    case FloatKind::kScale:
      return exponent == top ? NAN : std::ldexp(1, exponent - T::kBias);
  }
  const int implied = exponent == 0 ? 0 : 1 << T::kMantissaBits;
  return sign * std::ldexp(implied + fraction, std::max(exponent, 1) - T::kBias - T::kMantissaBits);
}

// The result of rounding by search: the finite values in order, and what lies beyond them.
template <class T>
class SlowRounding {
 public:
  SlowRounding() {
    for (uint32_t m = 0; m <= T::kMax; ++m) values_.push_back(reference_value<T>(m));
  }

  double operator()(double x) const {
    if constexpr (T::kKind == FloatKind::kScale) {
      if (!(x > 0x1p-150)) return NAN;
    }
    if (std::isnan(x)) return T::kKind == FloatKind::kFinite ? -0.0 : NAN;
    const double magnitude = std::fabs(x);
    // One step beyond the largest, where rounding overflows: the value that would come next.
    const double last = values_.back();
    const double next =
        T::kMantissaBits == 0 ? 2 * last : last + (last - values_[values_.size() - 2]);
    const double half_way = last + (next - last) / 2;
    const bool last_is_odd = T::kKind == FloatKind::kScale || (T::kMax & 1);
    double result;
    if (magnitude > half_way || (magnitude == half_way && last_is_odd)) {
      result = T::kKind == FloatKind::kIeee     ? INFINITY
               : T::kKind == FloatKind::kFinite ? last
                                                : NAN;
    } else if (magnitude >= last) {
      result = last;
    } else {
      const size_t above =
          std::upper_bound(values_.begin(), values_.end(), magnitude) - values_.begin();
      if (above == 0) return values_[0];
      const double low = values_[above - 1];
      const double high = values_[above];
      // Both differences are exact or round without crossing one another.
      const double down = magnitude - low;
      const double up = high - magnitude;
      const bool tie_up = T::kKind == FloatKind::kScale || above % 2 == 0;
      result = down < up || (down == up && !tie_up) ? low : high;
    }
    result = std::copysign(result, x);
    return T::kKind == FloatKind::kFnuz && result == 0 ? 0.0 : result;
  }

 private:
  std::vector<double> values_;
};

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

TEST_CASE("every bit pattern of the narrow floats decodes by its definition and comes back") {
  for_each_mini_float([]<class T>(std::type_identity<T>) {
    int wrong = 0;
    for (uint32_t bits = 0; bits < kPatterns<T>; ++bits) {
      const T value = T::from_bits(static_cast<typename T::Bits>(bits));
      const double wide = static_cast<double>(value);
      wrong += !same(wide, reference_value<T>(bits));
      wrong += !same(static_cast<float>(value), wide);
      const uint32_t back = std::isnan(wide) ? T::kNaN : bits;
      wrong += T(wide).bits != back;
      wrong += T(static_cast<float>(wide)).bits != back;
      if (std::isfinite(wide)) wrong += !T::in_range(wide);
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("encoding rounds to the nearest value, ties to even, from float and from double") {
  for_each_mini_float([]<class T>(std::type_identity<T>) {
    const SlowRounding<T> slow;
    std::mt19937_64 random(1);
    std::vector<double> inputs = {0.0, -0.0, INFINITY, -INFINITY, NAN, 5e-324, 1e308, 0x1p-150};
    // Every value, the middle between two neighbours, and what lies just beside them.
    const uint32_t step = sizeof(T) == 2 ? 37 : 1;
    for (uint32_t bits = 0; bits <= T::kMax; bits += step) {
      const double value = reference_value<T>(bits);
      const double next = bits < T::kMax ? reference_value<T>(bits + 1) : 2 * value;
      for (double base : {value, value + (next - value) / 2}) {
        for (double x : {base, std::nextafter(base, INFINITY), std::nextafter(base, -INFINITY)}) {
          inputs.push_back(x);
          inputs.push_back(-x);
        }
      }
    }
    for (int i = 0; i < 20000; ++i) {
      inputs.push_back(std::ldexp(static_cast<double>(static_cast<int64_t>(random())),
                                  static_cast<int>(random() % 320) - 220));
    }
    int wrong = 0;
    for (double x : inputs) {
      wrong += !same(static_cast<double>(T(x)), slow(x));
      const float narrow = static_cast<float>(x);
      wrong += !same(static_cast<double>(T(narrow)), slow(narrow));
    }
    CHECK(wrong == 0);
  });
}

TEST_CASE("encode_float says when a finite value does not fit") {
  const auto fits = [](ElementType type, double value) {
    std::byte element[8] = {};
    return encode_float(type, value, element);
  };
  using enum ElementType;
  CHECK(fits(F16, 65519));
  CHECK_FALSE(fits(F16, 65520));
  CHECK(fits(F16, INFINITY));
  CHECK(fits(F16, 1e-30));
  CHECK(fits(F8E4M3FN, 464));
  CHECK_FALSE(fits(F8E4M3FN, 464.01));
  CHECK_FALSE(fits(F4E2M1FN, 7));
  CHECK(fits(F4E2M1FN, 6.9));
  CHECK(fits(F32, 3.4028235e38));
  CHECK_FALSE(fits(F32, 1e39));
  CHECK(fits(F64, 1e308));
  CHECK_FALSE(fits(F8E8M0FNU, 0));
  CHECK_FALSE(fits(F8E8M0FNU, -1));
  CHECK_FALSE(fits(F8E8M0FNU, 0x1p128));
  CHECK(fits(F8E8M0FNU, NAN));
}

TEST_CASE("arrays decode and encode as single values do") {
  for_each_mini_float([]<class T>(std::type_identity<T>) {
    const ElementType type = element_type_of<T>;
    std::vector<T> elements(kPatterns<T>);
    for (uint32_t i = 0; i < kPatterns<T>; ++i) {
      elements[i] = T::from_bits(static_cast<typename T::Bits>(i));
    }
    std::vector<float> values(elements.size());
    const auto* bytes = reinterpret_cast<const std::byte*>(elements.data());
    decode_floats(type, bytes, static_cast<int64_t>(values.size()), values.data());
    std::vector<T> back(elements.size());
    encode_floats(type, values.data(), static_cast<int64_t>(values.size()),
                  reinterpret_cast<std::byte*>(back.data()));
    int wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      wrong += !same(values[i], decode_float(type, bytes + i * sizeof(T)));
      wrong += back[i].bits != T(values[i]).bits;
    }
    // Floats of all magnitudes, half way between two values and beside that, and NaNs.
    std::vector<float> floats;
    for (uint32_t high = 0; high < 0x10000; high += 13) {
      for (uint32_t low : {0x0000u, 0x0001u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
        floats.push_back(std::bit_cast<float>(high << 16 | low));
      }
    }
    for (uint32_t high : {0x7f7fu, 0x7f80u, 0xff7fu, 0xff80u, 0xffffu}) {
      for (uint32_t low : {0x7fffu, 0x8000u, 0xffffu}) {
        floats.push_back(std::bit_cast<float>(high << 16 | low));
      }
    }
    std::vector<T> encoded(floats.size());
    encode_floats(type, floats.data(), static_cast<int64_t>(floats.size()),
                  reinterpret_cast<std::byte*>(encoded.data()));
    for (size_t i = 0; i < floats.size(); ++i) wrong += encoded[i].bits != T(floats[i]).bits;
    CHECK(wrong == 0);
  });
}

TEST_CASE("NaN payloads survive decoding where the format has one") {
  const float nan = static_cast<float>(BF16::from_bits(0xffc5));
  CHECK(std::bit_cast<uint32_t>(nan) == 0xffc50000u);
  CHECK(BF16(nan).bits == 0x7fc0);
  CHECK(F16(-std::numeric_limits<double>::quiet_NaN()).bits == 0x7e00);
}

TEST_CASE("narrow integers wrap and extend by their sign") {
  for (int i = -256; i < 256; ++i) {
    CHECK(NarrowInt<4, true>(i).value == static_cast<int8_t>(((i + 8) & 15) - 8));
    CHECK(NarrowInt<2, false>(i).value == (i & 3));
    CHECK(NarrowInt<1, true>(i).value == -(i & 1));
  }
}

TEST_CASE("dispatch gives each element type its own value type, of the stored size") {
  for (int i = 0; i < kElementTypeCount; ++i) {
    const auto type = static_cast<ElementType>(i);
    dispatch(type, [&]<class T>(std::type_identity<T>) {
      CHECK(element_type_of<T> == type);
      CHECK(static_cast<int>(sizeof(T)) == info(type).bytes);
    });
  }
}

}  // namespace
}  // namespace minihlo
