// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/blas.hpp"

#include <complex>
#include <type_traits>

#include "core/scalar.hpp"
#include "device/cuda/check.hpp"

namespace speedwell {

namespace {

cublasFillMode_t fill(Triangle triangle) {
  return triangle == Triangle::unit_lower ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
}
cublasDiagType_t diagonal(Triangle triangle) {
  return triangle == Triangle::unit_lower ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
}

template <class T>
cublasOperation_t operation(Transpose transpose) {
  if (transpose != Transpose::yes) return CUBLAS_OP_N;
  return field_of<T> == Field::complex ? CUBLAS_OP_C : CUBLAS_OP_T;
}

// A function and its name.
template <class Function>
struct Call {
  Function* function;
  const char* name;
  template <class... Arguments>
  void operator()(const Arguments&... arguments) const {
    check(function(arguments...), name);
  }
};

template <class Function>
Call(Function*, const char*) -> Call<Function>;

// The functions for one type of numbers, and these numbers as cuBLAS names them: aligned to their
// size, scalars too.
template <class T>
struct Blas;
template <>
struct Blas<float> {
  using Number = float;
  static constexpr Call gemm{cublasSgemm_64, "cublasSgemm_64"};
  static constexpr Call trsm{cublasStrsm_64, "cublasStrsm_64"};
};
template <>
struct Blas<double> {
  using Number = double;
  static constexpr Call gemm{cublasDgemm_64, "cublasDgemm_64"};
  static constexpr Call trsm{cublasDtrsm_64, "cublasDtrsm_64"};
  static constexpr Call trsv{cublasDtrsv_64, "cublasDtrsv_64"};
};
template <>
struct Blas<std::complex<float>> {
  using Number = cuComplex;
  static constexpr Call gemm{cublasCgemm_64, "cublasCgemm_64"};
  static constexpr Call trsm{cublasCtrsm_64, "cublasCtrsm_64"};
};
template <>
struct Blas<std::complex<double>> {
  using Number = cuDoubleComplex;
  static constexpr Call gemm{cublasZgemm_64, "cublasZgemm_64"};
  static constexpr Call trsm{cublasZtrsm_64, "cublasZtrsm_64"};
  static constexpr Call trsv{cublasZtrsv_64, "cublasZtrsv_64"};
};

template <class T>
auto* blas_numbers(T* numbers) {
  using Number = typename Blas<std::remove_const_t<T>>::Number;
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Number, Number>*>(numbers);
}

template <class T>
void solve_left(Lane& lane, Triangle triangle, Transpose transpose, MatrixView<const T> t,
                MatrixView<T> x) {
  alignas(sizeof(T)) const T one = 1;
  Blas<T>::trsm(lane.blas(), CUBLAS_SIDE_LEFT, fill(triangle), operation<T>(transpose),
                diagonal(triangle), x.rows, x.columns, blas_numbers(&one), blas_numbers(t.data),
                t.ld, blas_numbers(x.data), x.ld);
}

}  // namespace

template <class T>
void add_product(Lane& lane, T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c,
                 Transpose transpose, Fp64Products products, T beta) {
  if (c.empty() || b.rows == 0) return;
  alignas(sizeof(T)) const T factor = alpha;
  alignas(sizeof(T)) const T rest = beta;
  Blas<T>::gemm(lane.blas(products), operation<T>(transpose), CUBLAS_OP_N, c.rows, c.columns,
                b.rows, blas_numbers(&factor), blas_numbers(a.data), a.ld, blas_numbers(b.data),
                b.ld, blas_numbers(&rest), blas_numbers(c.data), c.ld);
}

void triangle_product(Lane& lane, cublasSideMode_t side, Triangle triangle, float alpha,
                      MatrixView<const float> t, MatrixView<float> b, Transpose transpose) {
  if (b.empty()) return;
  check(cublasStrmm_64(lane.blas(), side, fill(triangle), operation<float>(transpose),
                       diagonal(triangle), b.rows, b.columns, &alpha, t.data, t.ld, b.data, b.ld,
                       b.data, b.ld),
        "cublasStrmm_64");
}

template <class T>
void solve_unit_lower_left(Lane& lane, MatrixView<const T> t, MatrixView<T> b) {
  if (!b.empty()) solve_left<T>(lane, Triangle::unit_lower, Transpose::no, t, b);
}

template <class T>
void solve_triangle(Lane& lane, Triangle triangle, Transpose transpose, MatrixView<const T> t,
                    MatrixView<T> x) {
  if (x.empty()) return;
  if constexpr (precision_of<T> == Precision::fp64)
    if (x.columns == 1)
      return Blas<T>::trsv(lane.blas(), fill(triangle), operation<T>(transpose), diagonal(triangle),
                           t.rows, blas_numbers(t.data), t.ld, blas_numbers(x.data), 1);
  solve_left<T>(lane, triangle, transpose, t, x);
}

template void add_product(Lane&, float, MatrixView<const float>, MatrixView<const float>,
                          MatrixView<float>, Transpose, Fp64Products, float);
template void add_product(Lane&, double, MatrixView<const double>, MatrixView<const double>,
                          MatrixView<double>, Transpose, Fp64Products, double);
template void add_product(Lane&, std::complex<float>, MatrixView<const std::complex<float>>,
                          MatrixView<const std::complex<float>>, MatrixView<std::complex<float>>,
                          Transpose, Fp64Products, std::complex<float>);
template void add_product(Lane&, std::complex<double>, MatrixView<const std::complex<double>>,
                          MatrixView<const std::complex<double>>, MatrixView<std::complex<double>>,
                          Transpose, Fp64Products, std::complex<double>);
template void solve_unit_lower_left(Lane&, MatrixView<const float>, MatrixView<float>);
template void solve_unit_lower_left(Lane&, MatrixView<const double>, MatrixView<double>);
template void solve_unit_lower_left(Lane&, MatrixView<const std::complex<float>>,
                                    MatrixView<std::complex<float>>);
template void solve_unit_lower_left(Lane&, MatrixView<const std::complex<double>>,
                                    MatrixView<std::complex<double>>);
template void solve_triangle(Lane&, Triangle, Transpose, MatrixView<const double>,
                             MatrixView<double>);
template void solve_triangle(Lane&, Triangle, Transpose, MatrixView<const std::complex<float>>,
                             MatrixView<std::complex<float>>);
template void solve_triangle(Lane&, Triangle, Transpose, MatrixView<const std::complex<double>>,
                             MatrixView<std::complex<double>>);

}  // namespace speedwell
