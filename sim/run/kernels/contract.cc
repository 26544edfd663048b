#include "sim/run/kernels/contract.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/numbers.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

template <class T>
void tile(int64_t count, const std::byte* left_bytes, const std::byte* right_bytes, bool goes_on,
          std::byte* sum_bytes) {
  const T* left = reinterpret_cast<const T*>(left_bytes);
  const T* right = reinterpret_cast<const T*>(right_bytes);
  T* sums = reinterpret_cast<T*>(sum_bytes);
  int64_t k = 0;
  if (!goes_on) {
    for (int64_t r = 0; r < kTileRows; ++r) {
      for (int64_t c = 0; c < kTileColumns; ++c) {
        sums[r * kTileColumns + c] = count > 0 ? product(left[r], right[c]) : T{};
      }
    }
    k = 1;
  }
  for (; k < count; ++k) {
    for (int64_t r = 0; r < kTileRows; ++r) {
      for (int64_t c = 0; c < kTileColumns; ++c) {
        T& sum = sums[r * kTileColumns + c];
        sum = add_product(sum, left[k * kTileRows + r], right[k * kTileColumns + c]);
      }
    }
  }
}

#if defined(__x86_64__)
// The same operations on as many columns at a time as a register holds.
struct Avx2F32 {
  using Scalar = float;
  using Vector = __m256;
  static constexpr int64_t kLanes = 8;
  __attribute__((target("avx2,fma"))) static Vector load(const float* p) {
    return _mm256_loadu_ps(p);
  }
  __attribute__((target("avx2,fma"))) static void store(float* p, Vector v) {
    _mm256_storeu_ps(p, v);
  }
  __attribute__((target("avx2,fma"))) static Vector all(const float* p) {
    return _mm256_broadcast_ss(p);
  }
  __attribute__((target("avx2,fma"))) static Vector multiply(Vector a, Vector b) {
    return _mm256_mul_ps(a, b);
  }
  __attribute__((target("avx2,fma"))) static Vector fma(Vector a, Vector b, Vector c) {
    return _mm256_fmadd_ps(a, b, c);
  }
};

struct Avx2F64 {
  using Scalar = double;
  using Vector = __m256d;
  static constexpr int64_t kLanes = 4;
  __attribute__((target("avx2,fma"))) static Vector load(const double* p) {
    return _mm256_loadu_pd(p);
  }
  __attribute__((target("avx2,fma"))) static void store(double* p, Vector v) {
    _mm256_storeu_pd(p, v);
  }
  __attribute__((target("avx2,fma"))) static Vector all(const double* p) {
    return _mm256_broadcast_sd(p);
  }
  __attribute__((target("avx2,fma"))) static Vector multiply(Vector a, Vector b) {
    return _mm256_mul_pd(a, b);
  }
  __attribute__((target("avx2,fma"))) static Vector fma(Vector a, Vector b, Vector c) {
    return _mm256_fmadd_pd(a, b, c);
  }
};

template <class V>
__attribute__((target("avx2,fma"))) void avx2_columns(int64_t count, const typename V::Scalar* left,
                                                      const typename V::Scalar* right, bool goes_on,
                                                      typename V::Scalar* sums) {
  typename V::Vector sum[kTileRows][2];
  int64_t k = 0;
  if (goes_on) {
    for (int64_t r = 0; r < kTileRows; ++r) {
      sum[r][0] = V::load(sums + r * kTileColumns);
      sum[r][1] = V::load(sums + r * kTileColumns + V::kLanes);
    }
  } else {
    typename V::Vector b0 = V::load(right), b1 = V::load(right + V::kLanes);
    for (int64_t r = 0; r < kTileRows; ++r) {
      sum[r][0] = V::multiply(V::all(left + r), b0);
      sum[r][1] = V::multiply(V::all(left + r), b1);
    }
    k = 1;
  }
  for (; k < count; ++k) {
    const typename V::Scalar* row = right + k * kTileColumns;
    typename V::Vector b0 = V::load(row), b1 = V::load(row + V::kLanes);
    for (int64_t r = 0; r < kTileRows; ++r) {
      typename V::Vector a = V::all(left + k * kTileRows + r);
      sum[r][0] = V::fma(a, b0, sum[r][0]);
      sum[r][1] = V::fma(a, b1, sum[r][1]);
    }
  }
  for (int64_t r = 0; r < kTileRows; ++r) {
    V::store(sums + r * kTileColumns, sum[r][0]);
    V::store(sums + r * kTileColumns + V::kLanes, sum[r][1]);
  }
}

template <class V>
void avx2_tile(int64_t count, const std::byte* left_bytes, const std::byte* right_bytes,
               bool goes_on, std::byte* sum_bytes) {
  using T = typename V::Scalar;
  if (count == 0) return tile<T>(count, left_bytes, right_bytes, goes_on, sum_bytes);
  const T* left = reinterpret_cast<const T*>(left_bytes);
  const T* right = reinterpret_cast<const T*>(right_bytes);
  T* sums = reinterpret_cast<T*>(sum_bytes);
  for (int64_t column = 0; column < kTileColumns; column += 2 * V::kLanes) {
    avx2_columns<V>(count, left, right + column, goes_on, sums + column);
  }
}
#endif

bool has_avx2() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return has;
#else
  return false;
#endif
}

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
  if (has_avx2() && type == ElementType::F32) return avx2_tile<Avx2F32>;
  if (has_avx2() && type == ElementType::F64) return avx2_tile<Avx2F64>;
#endif
  switch (type) {
    case ElementType::F32:
      return tile<float>;
    case ElementType::F64:
      return tile<double>;
    case ElementType::S32:
      return tile<int32_t>;
    case ElementType::S64:
      return tile<int64_t>;
    case ElementType::C64:
      return tile<std::complex<float>>;
    case ElementType::C128:
      return tile<std::complex<double>>;
    default:
      return tile<Pred>;
  }
}

}  // namespace minihlo
