// SPDX-License-Identifier: BSD-3-Clause
/// Simulated cuBLAS and cuBLASLt.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <cstring>

#include "paper/cuda/gpu.hpp"

using speedwell::Field;
using speedwell::OperationKind;
using speedwell::OperationModel;
using speedwell::Precision;
using speedwell::paper::arithmetic;
using speedwell::paper::launch;
using speedwell::paper::launch_product;

struct cublasContext {
  cudaStream_t stream = nullptr;
  int multiprocessors = 0;
};
struct cublasLtContext {};
struct cublasLtMatmulPreferenceOpaque_t {};

namespace {

double bytes_of_type(cudaDataType type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

const OperationModel& product_of(const speedwell::DeviceModel& device, cudaDataType type) {
  const Precision precision = type == CUDA_R_64F    ? Precision::fp64
                              : type == CUDA_R_32F  ? Precision::fp32
                              : type == CUDA_R_16BF ? Precision::bf16
                                                    : Precision::fp16;
  return device.of(OperationKind::product, precision);
}

// A triangle of order t, times or solved for a matrix with `others` columns (rows, on the right).
// Complex products are four real ones.
void launch_triangle(cublasHandle_t handle, cublasSideMode_t side, Precision precision,
                     std::int64_t m, std::int64_t n, Field field = Field::real) {
  const speedwell::DeviceModel& device = handle->stream->rank->device();
  const auto order = static_cast<double>(side == CUBLAS_SIDE_LEFT ? m : n);
  const auto others = static_cast<double>(side == CUBLAS_SIDE_LEFT ? n : m);
  const auto parts = static_cast<double>(speedwell::parts_of(field));
  const double element = parts * static_cast<double>(speedwell::bytes_of(precision));
  const double part = handle->multiprocessors > 0
                          ? static_cast<double>(handle->multiprocessors) / device.multiprocessors
                          : 1;
  launch(handle->stream, arithmetic(device.of(OperationKind::solve_left, precision),
                                    parts * parts * others * order * order, 1, others, order,
                                    element * (order * order / 2 + 2 * order * others), part));
}

// A complex product, as the real one of its expanded left factor.
void launch_complex_product(cublasHandle_t handle, cudaDataType type, std::int64_t m,
                            std::int64_t n, std::int64_t k) {
  launch_product(handle->stream, product_of(handle->stream->rank->device(), type),
                 bytes_of_type(type), bytes_of_type(type), 2 * m, n, 2 * k,
                 handle->multiprocessors);
}

}  // namespace

const char* cublasGetStatusString(cublasStatus_t) {
  return "a status of simulated cuBLAS";
}
cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetPointerMode(cublasHandle_t, cublasPointerMode_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int multiprocessors) {
  handle->multiprocessors = multiprocessors;
  return CUBLAS_STATUS_SUCCESS;
}
// What these choose has no simulated rate: see setup/machine.cpp.
cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t, cublasEmulationStrategy_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetEmulationSpecialValuesSupport(cublasHandle_t,
                                                      cudaEmulationSpecialValuesSupport) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetFixedPointEmulationMantissaControl(cublasHandle_t,
                                                           cudaEmulationMantissaControl) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t, int) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t, int) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasStrmm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t,
                              cublasOperation_t, cublasDiagType_t, std::int64_t m, std::int64_t n,
                              const float*, const float*, std::int64_t, const float*, std::int64_t,
                              float*, std::int64_t) {
  launch_triangle(handle, side, Precision::fp32, m, n);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasStrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t,
                              cublasOperation_t, cublasDiagType_t, std::int64_t m, std::int64_t n,
                              const float*, const float*, std::int64_t, float*, std::int64_t) {
  launch_triangle(handle, side, Precision::fp32, m, n);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t,
                              cublasOperation_t, cublasDiagType_t, std::int64_t m, std::int64_t n,
                              const double*, const double*, std::int64_t, double*, std::int64_t) {
  launch_triangle(handle, side, Precision::fp64, m, n);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasCtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t,
                              cublasOperation_t, cublasDiagType_t, std::int64_t m, std::int64_t n,
                              const cuComplex*, const cuComplex*, std::int64_t, cuComplex*,
                              std::int64_t) {
  launch_triangle(handle, side, Precision::fp32, m, n, Field::complex);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasZtrsm_64(cublasHandle_t handle, cublasSideMode_t side, cublasFillMode_t,
                              cublasOperation_t, cublasDiagType_t, std::int64_t m, std::int64_t n,
                              const cuDoubleComplex*, const cuDoubleComplex*, std::int64_t,
                              cuDoubleComplex*, std::int64_t) {
  launch_triangle(handle, side, Precision::fp64, m, n, Field::complex);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDtrsv_64(cublasHandle_t handle, cublasFillMode_t, cublasOperation_t,
                              cublasDiagType_t, std::int64_t n, const double*, std::int64_t,
                              double*, std::int64_t) {
  launch_triangle(handle, CUBLAS_SIDE_LEFT, Precision::fp64, n, 1);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasZtrsv_64(cublasHandle_t handle, cublasFillMode_t, cublasOperation_t,
                              cublasDiagType_t, std::int64_t n, const cuDoubleComplex*,
                              std::int64_t, cuDoubleComplex*, std::int64_t) {
  launch_triangle(handle, CUBLAS_SIDE_LEFT, Precision::fp64, n, 1, Field::complex);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                              std::int64_t m, std::int64_t n, std::int64_t k, const float*,
                              const float*, std::int64_t, const float*, std::int64_t, const float*,
                              float*, std::int64_t) {
  launch_product(handle->stream, product_of(handle->stream->rank->device(), CUDA_R_32F), 4, 4, m, n,
                 k, handle->multiprocessors);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasDgemm_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                              std::int64_t m, std::int64_t n, std::int64_t k, const double*,
                              const double*, std::int64_t, const double*, std::int64_t,
                              const double*, double*, std::int64_t) {
  launch_product(handle->stream, product_of(handle->stream->rank->device(), CUDA_R_64F), 8, 8, m, n,
                 k, handle->multiprocessors);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasCgemm_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                              std::int64_t m, std::int64_t n, std::int64_t k, const cuComplex*,
                              const cuComplex*, std::int64_t, const cuComplex*, std::int64_t,
                              const cuComplex*, cuComplex*, std::int64_t) {
  launch_complex_product(handle, CUDA_R_32F, m, n, k);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasZgemm_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                              std::int64_t m, std::int64_t n, std::int64_t k,
                              const cuDoubleComplex*, const cuDoubleComplex*, std::int64_t,
                              const cuDoubleComplex*, std::int64_t, const cuDoubleComplex*,
                              cuDoubleComplex*, std::int64_t) {
  launch_complex_product(handle, CUDA_R_64F, m, n, k);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t, cublasOperation_t,
                               std::int64_t m, std::int64_t n, std::int64_t k, const void*,
                               const void*, cudaDataType type, std::int64_t, const void*,
                               cudaDataType, std::int64_t, const void*, void*, cudaDataType c_type,
                               std::int64_t, cublasComputeType_t, cublasGemmAlgo_t) {
  launch_product(handle->stream, product_of(handle->stream->rank->device(), type),
                 bytes_of_type(type), bytes_of_type(c_type), m, n, k, handle->multiprocessors);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
std::size_t cublasLtGetVersion() {
  return 0;
}
cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t operation, cublasComputeType_t,
                                      cudaDataType) {
  *operation = {};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t) {
  if (attribute == CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET)
    std::memcpy(&operation->multiprocessors, value, sizeof(operation->multiprocessors));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type,
                                        std::uint64_t rows, std::uint64_t columns,
                                        std::int64_t ld) {
  *layout = {type, rows, columns, ld};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  *preference = nullptr;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t,
                                                    cublasLtMatmulPreferenceAttributes_t,
                                                    const void*, std::size_t) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* returned) {
  results[0] = {};
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t*,
                                                    cublasLtMatmulAlgoConfigAttributes_t, void*,
                                                    std::size_t, std::size_t*) {
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                       const cublasLtMatmulAlgo_t*,
                                       cublasLtMatmulHeuristicResult_t* result) {
  *result = {};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t operation, const void*,
                              const void*, cublasLtMatrixLayout_t a_layout, const void*,
                              cublasLtMatrixLayout_t, const void*, const void*,
                              cublasLtMatrixLayout_t c_layout, void*, cublasLtMatrixLayout_t,
                              const cublasLtMatmulAlgo_t*, void*, std::size_t,
                              cudaStream_t stream) {
  launch_product(stream, product_of(stream->rank->device(), a_layout->type),
                 bytes_of_type(a_layout->type), bytes_of_type(c_layout->type),
                 static_cast<std::int64_t>(c_layout->rows),
                 static_cast<std::int64_t>(c_layout->columns),
                 static_cast<std::int64_t>(a_layout->columns), operation->multiprocessors);
  return CUBLAS_STATUS_SUCCESS;
}
