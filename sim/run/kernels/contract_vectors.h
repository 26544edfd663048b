// Tiles of f32 and f64 for the vector instructions of x86-64. Each set is a source file of its own,
// compiled for it, which includes nothing that others might share the code of.
#pragma once

#include "sim/run/kernels/contract.h"

namespace minihlo {

/// Tiles of f32, or f64, for machines that have AVX2 and FMA, or AVX-512F.
ContractTile avx2_tile(bool is_f32);
ContractTile avx512_tile(bool is_f32);

namespace {

/// `V` has Scalar, Vector and kLanes, load, store, all (one scalar in all lanes), multiply and fma.
/// A tile has kRows rows of two vectors.
template <class V, int64_t kRows>
class VectorTile {
 public:
  static constexpr ContractTile get() { return {kRows, kColumns, run}; }

 private:
  using T = typename V::Scalar;
  using Vector = typename V::Vector;
  static constexpr int64_t kColumns = 2 * V::kLanes;

  static void run(int64_t used_rows, int64_t count, const std::byte* left, const std::byte* right,
                  int64_t right_stride, bool goes_on, std::byte* sums) {
    run_rows<kRows>(used_rows, count, reinterpret_cast<const T*>(left),
                    reinterpret_cast<const T*>(right), right_stride, goes_on,
                    reinterpret_cast<T*>(sums));
  }

  // The sums of exactly kUsed rows stay in registers.
  template <int64_t kUsed>
  static void run_rows(int64_t used_rows, int64_t count, const T* left, const T* right,
                       int64_t right_stride, bool goes_on, T* sums) {
    if constexpr (kUsed > 1) {
      if (used_rows < kUsed) {
        return run_rows<kUsed - 1>(used_rows, count, left, right, right_stride, goes_on, sums);
      }
    }
    Vector sum[kUsed][2];
    int64_t k = 0;
    if (goes_on) {
      for (int64_t r = 0; r < kUsed; ++r) {
        sum[r][0] = V::load(sums + r * kColumns);
        sum[r][1] = V::load(sums + r * kColumns + V::kLanes);
      }
    } else if (count == 0) {
      for (int64_t r = 0; r < kUsed; ++r) sum[r][0] = sum[r][1] = V::all(0);
    } else {
      const Vector b0 = V::load(right), b1 = V::load(right + V::kLanes);
      for (int64_t r = 0; r < kUsed; ++r) {
        sum[r][0] = V::multiply(V::all(left[r]), b0);
        sum[r][1] = V::multiply(V::all(left[r]), b1);
      }
      k = 1;
    }
    for (; k < count; ++k) {
      const T* row = right + k * right_stride;
      const Vector b0 = V::load(row), b1 = V::load(row + V::kLanes);
      for (int64_t r = 0; r < kUsed; ++r) {
        const Vector a = V::all(left[k * kRows + r]);
        sum[r][0] = V::fma(a, b0, sum[r][0]);
        sum[r][1] = V::fma(a, b1, sum[r][1]);
      }
    }
    for (int64_t r = 0; r < kUsed; ++r) {
      V::store(sums + r * kColumns, sum[r][0]);
      V::store(sums + r * kColumns + V::kLanes, sum[r][1]);
    }
  }
};

}  // namespace
}  // namespace minihlo
