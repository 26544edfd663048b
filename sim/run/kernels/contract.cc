#include "sim/run/kernels/contract.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/numbers.h"
#include "sim/run/kernels/contract_vectors.h"

namespace minihlo {
namespace {

template <class T>
T product(T a, T b) {
  if constexpr (std::is_same_v<T, Pred>) {
    return a && b;
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
  } else if constexpr (std::is_floating_point_v<T>) {
    return a * b;
  } else {
    using std::fma;
    return {fma(-a.imag(), b.imag(), a.real() * b.real()),
            fma(a.imag(), b.real(), a.real() * b.imag())};
  }
}

template <class T>
T add_product(T sum, T a, T b) {
  if constexpr (std::is_same_v<T, Pred>) {
    return sum || (a && b);
  } else if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(sum) + static_cast<U>(product(a, b)));
  } else if constexpr (std::is_floating_point_v<T>) {
    return std::fma(a, b, sum);
  } else {
    using std::fma;
    return {fma(-a.imag(), b.imag(), fma(a.real(), b.real(), sum.real())),
            fma(a.imag(), b.real(), fma(a.real(), b.imag(), sum.imag()))};
  }
}

// Rows and columns where vectors are left to the compiler.
constexpr int64_t kRows = 4, kColumns = 16;

template <class T>
void tile(int64_t used_rows, int64_t count, const std::byte* left_bytes,
          const std::byte* right_bytes, int64_t right_stride, bool goes_on, std::byte* sum_bytes) {
  const T* left = reinterpret_cast<const T*>(left_bytes);
  const T* right = reinterpret_cast<const T*>(right_bytes);
  T* sums = reinterpret_cast<T*>(sum_bytes);
  int64_t k = 0;
  if (!goes_on) {
    for (int64_t r = 0; r < used_rows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        sums[r * kColumns + c] = count > 0 ? product(left[r], right[c]) : T{};
      }
    }
    k = 1;
  }
  for (; k < count; ++k) {
    for (int64_t r = 0; r < used_rows; ++r) {
      for (int64_t c = 0; c < kColumns; ++c) {
        T& sum = sums[r * kColumns + c];
        sum = add_product(sum, left[k * kRows + r], right[k * right_stride + c]);
      }
    }
  }
}

template <class T>
constexpr ContractTile kPortable{kRows, kColumns, tile<T>};

}  // namespace

ElementType contraction_type(ElementType result) {
  const ElementTypeInfo& row = info(result);
  switch (row.kind) {
    case ElementKind::kFloat:
      return result == ElementType::F64 ? result : ElementType::F32;
    case ElementKind::kSigned:
    case ElementKind::kUnsigned:
      return row.bytes == 8 ? ElementType::S64 : ElementType::S32;
    default:
      return result;
  }
}

ContractTile contract_tile(ElementType type) {
#if defined(__x86_64__)
  const bool is_f32 = type == ElementType::F32;
  if (is_f32 || type == ElementType::F64) {
    if (__builtin_cpu_supports("avx512f")) return avx512_tile(is_f32);
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return avx2_tile(is_f32);
  }
#endif
  switch (type) {
    case ElementType::F32:
      return kPortable<float>;
    case ElementType::F64:
      return kPortable<double>;
    case ElementType::S32:
      return kPortable<int32_t>;
    case ElementType::S64:
      return kPortable<int64_t>;
    case ElementType::C64:
      return kPortable<std::complex<float>>;
    case ElementType::C128:
      return kPortable<std::complex<double>>;
    default:
      return kPortable<Pred>;
  }
}

}  // namespace minihlo
