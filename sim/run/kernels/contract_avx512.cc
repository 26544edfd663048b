// Tiles for machines with AVX-512F.
#include <immintrin.h>

#include "sim/run/kernels/contract_vectors.h"

namespace minihlo {
namespace {

struct F32 {
  using Scalar = float;
  using Vector = __m512;
  static constexpr int64_t kLanes = 16;
  static Vector load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
  static Vector all(float value) { return _mm512_set1_ps(value); }
  static Vector multiply(Vector a, Vector b) { return _mm512_mul_ps(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
};

struct F64 {
  using Scalar = double;
  using Vector = __m512d;
  static constexpr int64_t kLanes = 8;
  static Vector load(const double* p) { return _mm512_loadu_pd(p); }
  static void store(double* p, Vector v) { _mm512_storeu_pd(p, v); }
  static Vector all(double value) { return _mm512_set1_pd(value); }
  static Vector multiply(Vector a, Vector b) { return _mm512_mul_pd(a, b); }
  static Vector fma(Vector a, Vector b, Vector c) { return _mm512_fmadd_pd(a, b, c); }
};

}  // namespace

ContractTile avx512_tile(bool is_f32) {
  return is_f32 ? VectorTile<F32, 8>::get() : VectorTile<F64, 8>::get();
}

}  // namespace minihlo
