#include "ir/semantics/elementwise_convert.h"

namespace minihlo::elementwise {
namespace {

/// How a source type is read: what a narrow type holds is also a value of a wider one.
template <class T>
struct Source {
  using type = T;
};
template <int width, bool is_signed>
struct Source<NarrowInt<width, is_signed>> {
  using type = typename NarrowInt<width, is_signed>::Storage;
};
template <class T>
requires IsMiniFloat<T>::value struct Source<T> {
  using type = float;
};

/// To a float below f32: the f32 or f64 from which one rounding gives the result.
template <class From>
constexpr KernelEntry unencoded() {
  if constexpr (Integer<From> && sizeof(From) > 2) {
    return entry<ToDoubleForRounding, From>();
  } else if constexpr (std::same_as<From, double> || std::same_as<From, std::complex<double>>) {
    return entry<Convert<double>, From>();
  } else {
    return entry<Convert<float>, From>();
  }
}

template <class From>
constexpr KernelRow make_convert_row() {
  KernelRow row{};
  for (int i = 0; i < kElementTypeCount; ++i) {
    row[i] = dispatch(static_cast<ElementType>(i), []<class To>(std::type_identity<To>) {
      if constexpr (IsMiniFloat<To>::value) {
        return unencoded<From>();
      } else {
        return entry<Convert<To>, From>();
      }
    });
  }
  return row;
}

template <class From>
constexpr KernelRow kConvertRow = make_convert_row<From>();

}  // namespace

KernelEntry convert_kernel(ElementType from, ElementType to) {
  return dispatch(from, [&]<class From>(std::type_identity<From>) {
    return kConvertRow<typename Source<From>::type>[static_cast<size_t>(to)];
  });
}

ElementwiseKernel stochastic_convert_kernel(ElementType from, ElementType random, ElementType to) {
  return dispatch(to, [&]<class To>(std::type_identity<To>) -> ElementwiseKernel {
    if constexpr (SignedInteger<To>) {
      if (info(from).bits != info(random).bits) return nullptr;
      switch (random) {
        case ElementType::U8:
          return kernel<StochasticConvert<To>, float, uint8_t>;
        case ElementType::U16:
          return kernel<StochasticConvert<To>, float, uint16_t>;
        case ElementType::U32:
          return kernel<StochasticConvert<To>, float, uint32_t>;
        case ElementType::U64:
          return kernel<StochasticConvert<To>, double, uint64_t>;
        default:
          return nullptr;
      }
    } else {
      return nullptr;
    }
  });
}

}  // namespace minihlo::elementwise
