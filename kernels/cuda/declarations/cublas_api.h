// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The types that cuBLAS and cuBLASLt have in common.
#pragma once

#include "cuda_runtime.h"

using cuComplex = float2;
using cuDoubleComplex = double2;

enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cublasFillMode_t { CUBLAS_FILL_MODE_LOWER = 0, CUBLAS_FILL_MODE_UPPER = 1 };
enum cublasDiagType_t { CUBLAS_DIAG_NON_UNIT = 0, CUBLAS_DIAG_UNIT = 1 };
enum cublasSideMode_t { CUBLAS_SIDE_LEFT = 0, CUBLAS_SIDE_RIGHT = 1 };
enum cublasOperation_t { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2 };
enum cublasPointerMode_t { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 };
enum cublasGemmAlgo_t { CUBLAS_GEMM_DEFAULT = -1 };
enum cublasMath_t { CUBLAS_DEFAULT_MATH = 0, CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH = 8 };
enum cublasEmulationStrategy_t {
  CUBLAS_EMULATION_STRATEGY_DEFAULT = 0,
  CUBLAS_EMULATION_STRATEGY_PERFORMANT = 1,
  CUBLAS_EMULATION_STRATEGY_EAGER = 2
};
enum cudaEmulationMantissaControl {
  CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC = 0,
  CUDA_EMULATION_MANTISSA_CONTROL_FIXED = 1
};
enum cudaEmulationSpecialValuesSupport { CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT = 0xFFFF };
enum cublasComputeType_t {
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70
};
enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
using cudaDataType = cudaDataType_t;

using cublasHandle_t = struct cublasContext*;

const char* cublasGetStatusString(cublasStatus_t status);
