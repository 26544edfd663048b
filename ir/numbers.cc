#include "ir/numbers.h"

#include <algorithm>

#include <array>
#include <cmath>
#include <cstring>

#include "ir/vector_code.h"

namespace minihlo {
namespace {

template <class T>
T load(const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  return value;
}

template <class T>
constexpr bool kIsByteFloat = IsMiniFloat<T>::value && sizeof(T) == 1;

/// The float value of each bit pattern; patterns beyond the width read as their low bits.
template <class T>
constexpr std::array<float, 256> decode_table() {
  constexpr uint32_t kMask = T::kMagnitudeMask | T::kSignMask;
  std::array<float, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    table[i] = static_cast<float>(T::from_bits(static_cast<uint8_t>(i & kMask)));
  }
  return table;
}

// As BF16(value), in fewer steps: the upper half of a float's bits, rounded to nearest even, goes
// over into infinity by itself.
MINIHLO_ALWAYS_INLINE inline BF16 upper_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  return BF16::from_bits(static_cast<uint16_t>(value != value ? BF16::kNaN : rounded));
}

template <class Wide>
void encode_all(ElementType type, const Wide* values, int64_t count, std::byte* elements) {
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (IsMiniFloat<T>::value) {
      T* out = reinterpret_cast<T*>(elements);
      run_vectorized([&]() MINIHLO_ALWAYS_INLINE {
        for (int64_t i = 0; i < count; ++i) {
          if constexpr (std::is_same_v<T, BF16> && std::is_same_v<Wide, float>) {
            out[i] = upper_half(values[i]);
          } else {
            out[i] = T(values[i]);
          }
        }
      });
    }
  });
}

}  // namespace

double decode_float(ElementType type, const std::byte* element) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> double {
    if constexpr (IsMiniFloat<T>::value || std::is_floating_point_v<T>) {
      return static_cast<double>(load<T>(element));
    } else {
      __builtin_unreachable();
    }
  });
}

bool encode_float(ElementType type, double value, std::byte* element) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> bool {
    if constexpr (IsMiniFloat<T>::value || std::is_floating_point_v<T>) {
      const T encoded(value);
      std::memcpy(element, &encoded, sizeof(T));
      if (!std::isfinite(value)) return true;
      if constexpr (IsMiniFloat<T>::value) {
        return T::in_range(value);
      } else {
        return std::isfinite(encoded);
      }
    } else {
      __builtin_unreachable();
    }
  });
}

void decode_floats(ElementType type, const std::byte* elements, int64_t count, float* values) {
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (kIsByteFloat<T>) {
      static constexpr std::array<float, 256> kTable = decode_table<T>();
      for (int64_t i = 0; i < count; ++i) values[i] = kTable[static_cast<uint8_t>(elements[i])];
    } else if constexpr (IsMiniFloat<T>::value) {
      const T* in = reinterpret_cast<const T*>(elements);
      run_vectorized([&]() MINIHLO_ALWAYS_INLINE {
        for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(in[i]);
      });
    }
  });
}

void encode_floats(ElementType type, const float* values, int64_t count, std::byte* elements) {
  encode_all(type, values, count, elements);
}

void encode_floats(ElementType type, const double* values, int64_t count, std::byte* elements) {
  encode_all(type, values, count, elements);
}

int64_t decode_integer(ElementType type, const std::byte* element) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> int64_t {
    if constexpr (std::is_integral_v<T> || IsNarrowInt<T>::value || std::is_same_v<T, Pred>) {
      T value;
      std::memcpy(&value, element, sizeof(T));
      if constexpr (std::is_same_v<T, uint64_t>) {
        constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
        return static_cast<int64_t>(std::min(value, kLargest));
      } else {
        return static_cast<int64_t>(value);
      }
    } else {
      return 0;
    }
  });
}

}  // namespace minihlo
