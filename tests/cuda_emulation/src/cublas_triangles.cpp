// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// cuBLAS on OpenBLAS: products and solves with triangles.
#include <cblas.h>
#include <cublas_v2.h>

#include <climits>
#include <complex>

#include "blas_handle.hpp"
#include "blas_parts.hpp"

namespace speedwell::emulation {
namespace {

void trmm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m, int n,
          float alpha, const float* a, int lda, float* b, int ldb) {
  cblas_strmm(CblasColMajor, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
}

void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m, int n,
          float alpha, const float* a, int lda, float* b, int ldb) {
  cblas_strsm(CblasColMajor, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
}
void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m, int n,
          double alpha, const double* a, int lda, double* b, int ldb) {
  cblas_dtrsm(CblasColMajor, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
}

void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m, int n,
          std::complex<float> alpha, const std::complex<float>* a, int lda, std::complex<float>* b,
          int ldb) {
  cblas_ctrsm(CblasColMajor, side, uplo, trans, diag, m, n, &alpha, a, lda, b, ldb);
}
void trsm(CBLAS_SIDE side, CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int m, int n,
          std::complex<double> alpha, const std::complex<double>* a, int lda,
          std::complex<double>* b, int ldb) {
  cblas_ztrsm(CblasColMajor, side, uplo, trans, diag, m, n, &alpha, a, lda, b, ldb);
}
void trsv(CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int n, const double* a, int lda,
          double* x, int incx) {
  cblas_dtrsv(CblasColMajor, uplo, trans, diag, n, a, lda, x, incx);
}
void trsv(CBLAS_UPLO uplo, CBLAS_TRANSPOSE trans, CBLAS_DIAG diag, int n,
          const std::complex<double>* a, int lda, std::complex<double>* x, int incx) {
  cblas_ztrsv(CblasColMajor, uplo, trans, diag, n, a, lda, x, incx);
}

/// What a library that multiplies the other half of a triangle by zero would add: NaN where that
/// half has an Inf or NaN, and otherwise 0.
template <class T>
T zero_times_other_half(cublasFillMode_t uplo, cublasDiagType_t diag, std::int64_t order,
                        const T* a, std::int64_t lda) {
  T sum = 0;
  for (std::int64_t j = 0; j < order; ++j)
    for (std::int64_t i = 0; i < order; ++i) {
      const bool read = i == j                           ? diag == CUBLAS_DIAG_NON_UNIT
                        : uplo == CUBLAS_FILL_MODE_LOWER ? i > j
                                                         : i < j;
      if (!read) sum += T(0) * a[i + j * lda];
    }
  return sum;
}

/// C <- alpha op(A) B and the like, or with op(A)^-1: `compute` does it in place, as cBLAS does.
template <class T, class Compute>
cublasStatus_t with_triangle(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                             cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                             std::int64_t n, const T* alpha, const T* a, std::int64_t lda,
                             const T* b, std::int64_t ldb, T* c, std::int64_t ldc,
                             Compute compute) {
  if (handle == nullptr || !known(handle->stream)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool in_device_memory = handle->mode == CUBLAS_POINTER_MODE_DEVICE;
  const std::int64_t order = side == CUBLAS_SIDE_LEFT ? m : n;
  if (m < 0 || n < 0 || !valid(trans)) return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  if (std::max({m, n, lda, ldb, ldc}) > INT_MAX || (b == c && ldb != ldc) ||
      !Reader<T>::check(alpha, in_device_memory) || !on_device(a, order, order, lda, sizeof(T)) ||
      !on_device(b, m, n, ldb, sizeof(T)) || !on_device(c, m, n, ldc, sizeof(T))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const Reader<T> scalar(alpha, in_device_memory);
  const cublasContext used = *handle;
  enqueue(used.stream, {[=] {
                          spoil(used.workspace, used.workspace_bytes);
                          copy_columns(b, ldb, c, ldc, m, n);
                          compute(cblas(side), cblas(uplo), cblas(trans), cblas(diag),
                                  static_cast<int>(m), static_cast<int>(n), scalar(), a,
                                  static_cast<int>(lda), c, static_cast<int>(ldc));
                          const T more = zero_times_other_half(uplo, diag, order, a, lda);
                          for (std::int64_t j = 0; j < n; ++j)
                            for (std::int64_t i = 0; i < m; ++i) c[i + j * ldc] += more;
                        },
                        {}});
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t solve_vector(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                            cublasDiagType_t diag, std::int64_t n, const T* a, std::int64_t lda,
                            T* x, std::int64_t incx) {
  if (handle == nullptr || !known(handle->stream)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (n < 0 || incx == 0 || !valid(trans)) return CUBLAS_STATUS_INVALID_VALUE;
  if (n == 0) return CUBLAS_STATUS_SUCCESS;
  if (incx < 0) return CUBLAS_STATUS_NOT_SUPPORTED;  // here
  if (std::max({n, lda, incx}) > INT_MAX || !on_device(a, n, n, lda, sizeof(T)) ||
      !on_device(x, 1, n, incx, sizeof(T))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const cublasContext used = *handle;
  enqueue(used.stream, {[=] {
                          spoil(used.workspace, used.workspace_bytes);
                          trsv(cblas(uplo), cblas(trans), cblas(diag), static_cast<int>(n), a,
                               static_cast<int>(lda), x, static_cast<int>(incx));
                        },
                        {}});
  return CUBLAS_STATUS_SUCCESS;
}

template <class T, class Number>
cublasStatus_t solve_complex(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                             cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                             std::int64_t n, const Number* alpha, const Number* a, std::int64_t lda,
                             Number* b, std::int64_t ldb) {
  if (!is_aligned<T>(alpha) || !is_aligned<T>(a) || !is_aligned<T>(b))
    return CUBLAS_STATUS_INVALID_VALUE;
  return with_triangle(handle, side, uplo, trans, diag, m, n, numbers<T>(alpha), numbers<T>(a), lda,
                       numbers<T>(static_cast<const Number*>(b)), ldb, numbers<T>(b), ldb,
                       [](auto... all) { trsm(all...); });
}

}  // namespace
}  // namespace speedwell::emulation

using namespace speedwell::emulation;

cublasStatus_t cublasStrmm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const float* alpha, const float* a, std::int64_t lda,
                              const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  return blas_call("cublasStrmm_64", [&] {
    return with_triangle(handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, c, ldc,
                         [](auto... all) { trmm(all...); });
  });
}

cublasStatus_t cublasStrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const float* alpha, const float* a, std::int64_t lda,
                              float* b, std::int64_t ldb) {
  return blas_call("cublasStrsm_64", [&] {
    return with_triangle(handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, b, ldb,
                         [](auto... all) { trsm(all...); });
  });
}

cublasStatus_t cublasDtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const double* alpha, const double* a,
                              std::int64_t lda, double* b, std::int64_t ldb) {
  return blas_call("cublasDtrsm_64", [&] {
    return with_triangle(handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb, b, ldb,
                         [](auto... all) { trsm(all...); });
  });
}

cublasStatus_t cublasCtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const cuComplex* alpha, const cuComplex* a,
                              std::int64_t lda, cuComplex* b, std::int64_t ldb) {
  return blas_call("cublasCtrsm_64", [&] {
    return solve_complex<float>(handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
  });
}

cublasStatus_t cublasZtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const cuDoubleComplex* alpha,
                              const cuDoubleComplex* a, std::int64_t lda, cuDoubleComplex* b,
                              std::int64_t ldb) {
  return blas_call("cublasZtrsm_64", [&] {
    return solve_complex<double>(handle, side, uplo, trans, diag, m, n, alpha, a, lda, b, ldb);
  });
}

cublasStatus_t cublasZtrsv_64(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                              cublasDiagType_t diag, std::int64_t n, const cuDoubleComplex* a,
                              std::int64_t lda, cuDoubleComplex* x, std::int64_t incx) {
  return blas_call("cublasZtrsv_64", [&] {
    if (!is_aligned<double>(a) || !is_aligned<double>(x)) return CUBLAS_STATUS_INVALID_VALUE;
    return solve_vector(handle, uplo, trans, diag, n, numbers<double>(a), lda, numbers<double>(x),
                        incx);
  });
}

cublasStatus_t cublasDtrsv_64(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                              cublasDiagType_t diag, std::int64_t n, const double* a,
                              std::int64_t lda, double* x, std::int64_t incx) {
  return blas_call("cublasDtrsv_64",
                   [&] { return solve_vector(handle, uplo, trans, diag, n, a, lda, x, incx); });
}
