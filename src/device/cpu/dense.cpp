// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/dense.hpp"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <vector>

#include <speedwell/error.hpp>

#include "core/numbers.hpp"
#include "core/scalar.hpp"
#include "device/cpu/expansion.hpp"
#include "device/cpu/triangular.hpp"
#include "host/blas_library.hpp"
#include "host/lapack_lu.hpp"

namespace speedwell {

namespace {

// Up to this order, a plain loop is faster than calls of BLAS.
constexpr std::int64_t base = 32;

// Sizes have 32 bits: see host/blas_library.hpp.
int blas_int(std::int64_t value) {
  if (value > std::numeric_limits<int>::max())
    throw Fault("a local matrix dimension exceeds BLAS's 32-bit limit");
  return static_cast<int>(value);
}

CBLAS_TRANSPOSE blas_transpose(Transpose transpose) {
  return transpose == Transpose::yes ? CblasTrans : CblasNoTrans;
}
CBLAS_TRANSPOSE blas_adjoint(Transpose transpose) {
  return transpose == Transpose::yes ? CblasConjTrans : CblasNoTrans;
}
CBLAS_UPLO blas_triangle(Triangle triangle) {
  return triangle == Triangle::unit_lower ? CblasLower : CblasUpper;
}
CBLAS_DIAG blas_diagonal(Triangle triangle) {
  return triangle == Triangle::unit_lower ? CblasUnit : CblasNonUnit;
}

// l_ik <- a_ik / u_kk, then a_ij <- a_ij - l_ik u_kj, for each column k in turn.
std::int64_t factor_base(MatrixView<float> a) {
  for (std::int64_t k = 0; k < a.columns; ++k) {
    const float pivot = a(k, k);
    if (pivot == 0 || !std::isfinite(pivot)) return k;
    for (std::int64_t i = k + 1; i < a.rows; ++i) a(i, k) /= pivot;
    for (std::int64_t j = k + 1; j < a.columns; ++j)
      for (std::int64_t i = k + 1; i < a.rows; ++i) a(i, j) -= a(i, k) * a(k, j);
  }
  return -1;
}

}  // namespace

void multiply_add(float alpha, MatrixView<const float> a, MatrixView<const float> b,
                  MatrixView<float> c, Transpose transpose) {
  if (c.empty() || b.rows == 0 || add_shared_product<float>(alpha, a, b, c, transpose)) return;
  BlasRoutine{"cblas_sgemm", cblas_sgemm}(CblasColMajor, blas_transpose(transpose), CblasNoTrans,
                                          blas_int(c.rows), blas_int(c.columns), blas_int(b.rows),
                                          alpha, a.data, blas_int(a.ld), b.data, blas_int(b.ld),
                                          1.0f, c.data, blas_int(c.ld));
}

void multiply_add(double alpha, MatrixView<const double> a, MatrixView<const double> b,
                  MatrixView<double> c, Transpose transpose) {
  if (c.empty() || b.rows == 0 || add_shared_product<double>(alpha, a, b, c, transpose)) return;
  BlasRoutine{"cblas_dgemm", cblas_dgemm}(CblasColMajor, blas_transpose(transpose), CblasNoTrans,
                                          blas_int(c.rows), blas_int(c.columns), blas_int(b.rows),
                                          alpha, a.data, blas_int(a.ld), b.data, blas_int(b.ld),
                                          1.0, c.data, blas_int(c.ld));
}

template <class T>
void subtract_product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c) {
  if constexpr (field_of<T> == Field::complex) {
    if (c.empty() || b.rows == 0 || add_shared_product<T>(-1, a, b, c, Transpose::no)) return;
    constexpr bool low = sizeof(T) == sizeof(std::complex<float>);
    constexpr BlasRoutine product =
        low ? BlasRoutine{"cblas_cgemm", cblas_cgemm} : BlasRoutine{"cblas_zgemm", cblas_zgemm};
    const T minus_one = -1;
    const T one = 1;
    product(CblasColMajor, CblasNoTrans, CblasNoTrans, blas_int(c.rows), blas_int(c.columns),
            blas_int(b.rows), &minus_one, a.data, blas_int(a.ld), b.data, blas_int(b.ld), &one,
            c.data, blas_int(c.ld));
  } else {
    multiply_add(T{-1}, a, b, c);
  }
}
template void subtract_product(MatrixView<const float>, MatrixView<const float>, MatrixView<float>);
template void subtract_product(MatrixView<const double>, MatrixView<const double>,
                               MatrixView<double>);
template void subtract_product(MatrixView<const std::complex<float>>,
                               MatrixView<const std::complex<float>>,
                               MatrixView<std::complex<float>>);
template void subtract_product(MatrixView<const std::complex<double>>,
                               MatrixView<const std::complex<double>>,
                               MatrixView<std::complex<double>>);

void solve_triangle(Triangle triangle, Transpose transpose, MatrixView<const float> lu,
                    MatrixView<float> x) {
  if (x.empty()) return;
  BlasRoutine{"cblas_strsm", cblas_strsm}(CblasColMajor, CblasLeft, blas_triangle(triangle),
                                          blas_transpose(transpose), blas_diagonal(triangle),
                                          blas_int(x.rows), blas_int(x.columns), 1.0f, lu.data,
                                          blas_int(lu.ld), x.data, blas_int(x.ld));
}

void solve_triangle(Triangle triangle, Transpose transpose, MatrixView<const double> lu,
                    MatrixView<double> x) {
  if (x.empty()) return;
  BlasRoutine{"cblas_dtrsm", cblas_dtrsm}(CblasColMajor, CblasLeft, blas_triangle(triangle),
                                          blas_transpose(transpose), blas_diagonal(triangle),
                                          blas_int(x.rows), blas_int(x.columns), 1.0, lu.data,
                                          blas_int(lu.ld), x.data, blas_int(x.ld));
}

namespace {

// Numbers of a part of A that are expanded at once.
constexpr std::int64_t expanded_numbers = std::int64_t{1} << 18;

// As real products, since those of OpenBLAS are faster: A is expanded, some rows at a time.
template <class T>
void add_complex(T alpha, MatrixView<const std::complex<T>> a, MatrixView<const std::complex<T>> b,
                 MatrixView<std::complex<T>> c, Transpose transpose) {
  if (c.empty() || b.rows == 0) return;
  thread_local std::vector<T> memory;
  const std::int64_t step = std::max<std::int64_t>(expanded_numbers / (4 * a.columns), 64);
  for (std::int64_t i = 0; i < a.rows; i += step) {
    const std::int64_t m = std::min(step, a.rows - i);
    const MatrixView<const T> part = expanded<T>(a.block(i, 0, m, a.columns), memory);
    if (transpose == Transpose::yes)
      multiply_add(alpha, part, pairs_of<T>(b.block(i, 0, m, b.columns)), pairs_of<T>(c),
                   transpose);
    else
      multiply_add(alpha, part, pairs_of<T>(b), pairs_of<T>(c.block(i, 0, m, c.columns)));
  }
}

void solve_by_blas(Triangle triangle, Transpose transpose, MatrixView<const std::complex<float>> lu,
                   MatrixView<std::complex<float>> x) {
  const std::complex<float> one = 1;
  BlasRoutine{"cblas_ctrsm", cblas_ctrsm}(CblasColMajor, CblasLeft, blas_triangle(triangle),
                                          blas_adjoint(transpose), blas_diagonal(triangle),
                                          blas_int(x.rows), blas_int(x.columns), &one, lu.data,
                                          blas_int(lu.ld), x.data, blas_int(x.ld));
}
void solve_by_blas(Triangle triangle, Transpose transpose,
                   MatrixView<const std::complex<double>> lu, MatrixView<std::complex<double>> x) {
  const std::complex<double> one = 1;
  BlasRoutine{"cblas_ztrsm", cblas_ztrsm}(CblasColMajor, CblasLeft, blas_triangle(triangle),
                                          blas_adjoint(transpose), blas_diagonal(triangle),
                                          blas_int(x.rows), blas_int(x.columns), &one, lu.data,
                                          blas_int(lu.ld), x.data, blas_int(x.ld));
}

// Splits the triangle into halves, so that most of the work is real products.
template <class T>
void solve_complex(Triangle triangle, Transpose transpose, MatrixView<const std::complex<T>> lu,
                   MatrixView<std::complex<T>> x) {
  const std::int64_t n = lu.columns;
  if (x.empty()) return;
  if (n <= base) return solve_by_blas(triangle, transpose, lu, x);
  const bool lower = triangle == Triangle::unit_lower;
  const std::int64_t h = round_up(n / 2, base);
  const auto first = x.block(0, 0, h, x.columns);
  const auto second = x.block(h, 0, n - h, x.columns);
  const auto between = lower ? lu.block(h, 0, n - h, h) : lu.block(0, h, h, n - h);
  if (lower != (transpose == Transpose::yes)) {
    solve_complex<T>(triangle, transpose, lu.block(0, 0, h, h), first);
    add_complex<T>(-1, between, first, second, transpose);
    solve_complex<T>(triangle, transpose, lu.block(h, h, n - h, n - h), second);
  } else {
    solve_complex<T>(triangle, transpose, lu.block(h, h, n - h, n - h), second);
    add_complex<T>(-1, between, second, first, transpose);
    solve_complex<T>(triangle, transpose, lu.block(0, 0, h, h), first);
  }
}

}  // namespace

void multiply_add(std::complex<float> alpha, MatrixView<const std::complex<float>> a,
                  MatrixView<const std::complex<float>> b, MatrixView<std::complex<float>> c,
                  Transpose transpose) {
  add_complex<float>(alpha.real(), a, b, c, transpose);
}
void multiply_add(std::complex<double> alpha, MatrixView<const std::complex<double>> a,
                  MatrixView<const std::complex<double>> b, MatrixView<std::complex<double>> c,
                  Transpose transpose) {
  add_complex<double>(alpha.real(), a, b, c, transpose);
}

void solve_triangle(Triangle triangle, Transpose transpose,
                    MatrixView<const std::complex<float>> lu, MatrixView<std::complex<float>> x) {
  solve_complex<float>(triangle, transpose, lu, x);
}
void solve_triangle(Triangle triangle, Transpose transpose,
                    MatrixView<const std::complex<double>> lu, MatrixView<std::complex<double>> x) {
  solve_complex<double>(triangle, transpose, lu, x);
}

std::int64_t factor_lu(MatrixView<float> a) {
  const std::int64_t n = a.columns;
  if (n <= base) return factor_base(a);
  const std::int64_t h = round_up(n / 2, base);
  const auto a11 = a.block(0, 0, h, h);
  const auto a12 = a.block(0, h, h, n - h);
  const auto a21 = a.block(h, 0, n - h, h);
  const auto a22 = a.block(h, h, n - h, n - h);
  if (const std::int64_t bad = factor_lu(a11); bad >= 0) return bad;  // A11 = L11 U11
  solve_left_lower<float>(a11, a12);                                  // U12 = L11^-1 A12
  solve_right_upper<float>(a11, a21);                                 // L21 = A21 U11^-1
  multiply_add(-1, a21, a12, a22);                                    // A22 -= L21 U12
  const std::int64_t bad = factor_lu(a22);
  return bad < 0 ? bad : h + bad;
}

}  // namespace speedwell
