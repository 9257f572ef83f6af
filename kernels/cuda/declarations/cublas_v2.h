// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The part of cuBLAS that Speedwell uses, emulated on the host. 64-bit sizes only: a call with
/// 32-bit sizes does not compile.
#pragma once

#include "cublas_api.h"

cublasStatus_t cublasCreate(cublasHandle_t* handle);
cublasStatus_t cublasDestroy(cublasHandle_t handle);
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes);
cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode);
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int multiprocessors);
cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode);

// Since cuBLAS 13.1. Speedwell looks these up by name.
cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t handle,
                                          cublasEmulationStrategy_t strategy);
cublasStatus_t cublasSetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                      cudaEmulationSpecialValuesSupport mask);
cublasStatus_t cublasSetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                           cudaEmulationMantissaControl control);
cublasStatus_t cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int most);
cublasStatus_t cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int offset);

cublasStatus_t cublasStrmm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const float* alpha, const float* a, std::int64_t lda,
                              const float* b, std::int64_t ldb, float* c, std::int64_t ldc);
cublasStatus_t cublasStrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const float* alpha, const float* a, std::int64_t lda,
                              float* b, std::int64_t ldb);
cublasStatus_t cublasDtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const double* alpha, const double* a,
                              std::int64_t lda, double* b, std::int64_t ldb);
cublasStatus_t cublasCtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const cuComplex* alpha, const cuComplex* a,
                              std::int64_t lda, cuComplex* b, std::int64_t ldb);
cublasStatus_t cublasZtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t uplo,
                              cublasOperation_t trans, cublasDiagType_t diag, std::int64_t m,
                              std::int64_t n, const cuDoubleComplex* alpha,
                              const cuDoubleComplex* a, std::int64_t lda, cuDoubleComplex* b,
                              std::int64_t ldb);
cublasStatus_t cublasDtrsv_64(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                              cublasDiagType_t diag, std::int64_t n, const double* a,
                              std::int64_t lda, double* x, std::int64_t incx);
cublasStatus_t cublasZtrsv_64(cublasHandle_t handle, cublasFillMode_t uplo, cublasOperation_t trans,
                              cublasDiagType_t diag, std::int64_t n, const cuDoubleComplex* a,
                              std::int64_t lda, cuDoubleComplex* x, std::int64_t incx);
cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, std::int64_t m, std::int64_t n,
                              std::int64_t k, const float* alpha, const float* a, std::int64_t lda,
                              const float* b, std::int64_t ldb, const float* beta, float* c,
                              std::int64_t ldc);
cublasStatus_t cublasDgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, std::int64_t m, std::int64_t n,
                              std::int64_t k, const double* alpha, const double* a,
                              std::int64_t lda, const double* b, std::int64_t ldb,
                              const double* beta, double* c, std::int64_t ldc);
cublasStatus_t cublasCgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, std::int64_t m, std::int64_t n,
                              std::int64_t k, const cuComplex* alpha, const cuComplex* a,
                              std::int64_t lda, const cuComplex* b, std::int64_t ldb,
                              const cuComplex* beta, cuComplex* c, std::int64_t ldc);
cublasStatus_t cublasZgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, std::int64_t m, std::int64_t n,
                              std::int64_t k, const cuDoubleComplex* alpha,
                              const cuDoubleComplex* a, std::int64_t lda, const cuDoubleComplex* b,
                              std::int64_t ldb, const cuDoubleComplex* beta, cuDoubleComplex* c,
                              std::int64_t ldc);
cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                               cublasOperation_t transb, std::int64_t m, std::int64_t n,
                               std::int64_t k, const void* alpha, const void* a,
                               cudaDataType a_type, std::int64_t lda, const void* b,
                               cudaDataType b_type, std::int64_t ldb, const void* beta, void* c,
                               cudaDataType c_type, std::int64_t ldc,
                               cublasComputeType_t compute_type, cublasGemmAlgo_t algorithm);
