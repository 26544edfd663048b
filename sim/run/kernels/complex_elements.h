// Elements of any float or complex type as pairs of doubles, for linear algebra and transforms,
// which compute in that type and round once.
#pragma once

#include <complex>
#include <cstring>
#include <type_traits>

#include "ir/numbers.h"
#include "ir/semantics/elementwise_kernels.h"

namespace minihlo {

/// Reads element `i` of a float or complex type; 0 of any other.
inline std::complex<double> load_complex(ElementType type, const std::byte* elements, int64_t i) {
  return dispatch(type, [&]<class T>(std::type_identity<T>) -> std::complex<double> {
    if constexpr (elementwise::Complex<T>) {
      return std::complex<double>(reinterpret_cast<const T*>(elements)[i]);
    } else if constexpr (elementwise::AnyFloat<T>) {
      return static_cast<double>(reinterpret_cast<const T*>(elements)[i]);
    } else {
      return 0;
    }
  });
}

/// Writes element `i`, rounded; a float type takes the real part. NaNs are canonical.
inline void store_complex(ElementType type, std::complex<double> value, std::byte* elements,
                          int64_t i) {
  dispatch(type, [&]<class T>(std::type_identity<T>) {
    if constexpr (elementwise::Complex<T>) {
      reinterpret_cast<T*>(elements)[i] = elementwise::canonical(T(value));
    } else if constexpr (IsMiniFloat<T>::value) {
      reinterpret_cast<T*>(elements)[i] = T(elementwise::canonical(value.real()));
    } else if constexpr (elementwise::Real<T>) {
      reinterpret_cast<T*>(elements)[i] = elementwise::canonical(static_cast<T>(value.real()));
    }
  });
}

}  // namespace minihlo
