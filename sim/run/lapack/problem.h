// One matrix problem of a batch: its arrays in column-major order, by role, and what the call asks
// for.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

// Vectors of complex<float> would be read as doubles, at addresses that are none of a double.
#define EIGEN_DONT_VECTORIZE
#include <Eigen/Core>

#include "ir/element_type.h"
#include "sim/run/workers.h"

namespace minihlo::lapack {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;
template <class T>
using RealOf = typename Eigen::NumTraits<T>::Real;

/// The options of LAPACK's routines, by the letters that they have there.
struct Options {
  char uplo = 'L';         // the triangle that counts
  char side = 'L';         // of the unknown the matrix stands on
  char trans = 'N';        // N, T, C
  char diag = 'N';         // U: ones
  char mode = 'V';         // N: values only; V: vectors too; A, S: all or the leading ones
  char left = 'V';         // vectors: V or N
  char right = 'V';        //
  char sort = 'N';         //
  int64_t low = 1;         // rows and columns that count, from 1
  int64_t high = -1;       // -1: to the end
  bool plain_qr = false;   // gesvd, not gesdd
  double least_pivot = 0;  // in units of the largest element of U; 0: a zero pivot ends the work
};

/// An array of one problem; a vector has one column.
struct Array {
  char role;
  bool is_result;
  ElementType type;
  std::byte* data;  // of operands never written
  int64_t rows, columns;
};

class Problem {
 public:
  Problem(const Options& options, std::vector<Array> arrays, Workers& workers)
      : options_(options), arrays_(std::move(arrays)), workers_(workers) {}

  const Options& options() const { return options_; }
  /// Whether to give up: nobody waits for results any more.
  bool is_late() const { return workers_.is_late(); }

  bool has_operand(char role) const { return find(role, false) != nullptr; }

  /// An operand that the call has, its elements as T.
  template <class T>
  Matrix<T> get(char role) const {
    const Array& array = *find(role, false);
    Matrix<T> matrix(array.rows, array.columns);
    visit(array, [&]<class S>(const S* elements) {
      for (int64_t i = 0; i < matrix.size(); ++i) matrix.data()[i] = converted<T>(elements[i]);
    });
    return matrix;
  }

  int64_t rows(char result) const { return find(result, true)->rows; }
  int64_t columns(char result) const { return find(result, true)->columns; }

  /// Fills a result, if the call has it, rounded to its type. Requires its dimensions.
  template <class Derived>
  void set(char role, const Eigen::MatrixBase<Derived>& value) {
    const Array* array = find(role, true);
    if (!array) return;
    const Matrix<typename Derived::Scalar> matrix = value;
    visit(*array, [&]<class S>(S* elements) {
      for (int64_t i = 0; i < matrix.size(); ++i) elements[i] = converted<S>(matrix.data()[i]);
    });
  }
  void set_integer(char role, int64_t i, int32_t value) {
    if (const Array* array = find(role, true)) reinterpret_cast<int32_t*>(array->data)[i] = value;
  }
  int32_t integer(char role, int64_t i) const {
    return reinterpret_cast<const int32_t*>(find(role, false)->data)[i];
  }

 private:
  const Array* find(char role, bool is_result) const {
    for (const Array& array : arrays_) {
      if (array.role == role && array.is_result == is_result) return &array;
    }
    return nullptr;
  }

  template <class To, class From>
  static To converted(const From& value) {
    constexpr bool kFromComplex = Eigen::NumTraits<From>::IsComplex;
    if constexpr (Eigen::NumTraits<To>::IsComplex) {
      using R = RealOf<To>;
      if constexpr (kFromComplex) {
        return To(static_cast<R>(value.real()), static_cast<R>(value.imag()));
      } else {
        return To(static_cast<R>(value));
      }
    } else if constexpr (kFromComplex) {
      return static_cast<To>(value.real());
    } else {
      return static_cast<To>(value);
    }
  }

  template <class Function>
  static void visit(const Array& array, const Function& function) {
    switch (array.type) {
      case ElementType::F32:
        return function(reinterpret_cast<float*>(array.data));
      case ElementType::F64:
        return function(reinterpret_cast<double*>(array.data));
      case ElementType::C64:
        return function(reinterpret_cast<std::complex<float>*>(array.data));
      case ElementType::C128:
        return function(reinterpret_cast<std::complex<double>*>(array.data));
      default:
        return;
    }
  }

  const Options& options_;
  std::vector<Array> arrays_;
  Workers& workers_;
};

// The routines, by file in sim/run/lapack/, for doubles and pairs of them; those that iterate for
// every type, since the precision decides where they stop. What they leave undefined is zero.
template <class T>
void potrf(Problem&);  // factorizations.cc
template <class T>
void getrf(Problem&);
template <class T>
void geqrf(Problem&);
template <class T>
void geqp3(Problem&);
template <class T>
void orgqr(Problem&);
template <class T>
void ormqr(Problem&);
template <class T>
void gehrd(Problem&);
template <class T>
void sytrd(Problem&);
template <class T>
void trsm(Problem&);  // solutions.cc
template <class T>
void gtsv(Problem&);
template <class T>
void syevd(Problem&);  // symmetric_eigen.cc
template <class T>
void gesdd(Problem&);  // singular_values.cc
template <class T>
void geev(Problem&);  // eigen.cc
template <class T>
void gees(Problem&);

}  // namespace minihlo::lapack
