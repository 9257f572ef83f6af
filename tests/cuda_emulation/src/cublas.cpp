// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// cuBLAS on OpenBLAS: handles and products.
#include <cblas.h>
#include <cublas_v2.h>

#include <climits>
#include <complex>
#include <cstring>
#include <type_traits>

#include "blas.hpp"
#include "blas_handle.hpp"
#include "blas_parts.hpp"
#include "conversions.hpp"

namespace speedwell::emulation {
namespace {

template <class T>
constexpr cudaDataType type_of = std::is_same_v<T, double> ? CUDA_R_64F : CUDA_R_32F;

/// The matrix in T and without gaps, in `store` if it has to be converted.
template <class T>
std::pair<const T*, int> converted(const Operand& from, std::vector<T>& store) {
  if (from.type == type_of<T>) {
    return {static_cast<const T*>(from.data), static_cast<int>(from.ld)};
  }
  store.resize(static_cast<std::size_t>(from.rows * from.columns));
  for (std::int64_t j = 0; j < from.columns; ++j) {
    for (std::int64_t i = 0; i < from.rows; ++i) {
      store[i + j * from.rows] = static_cast<T>(element(from, i + j * from.ld));
    }
  }
  return {store.data(), static_cast<int>(from.rows)};
}

double read(const Scalar& scalar, bool wide) {
  if (scalar.device == nullptr) return scalar.value;
  if (wide) return *static_cast<const double*>(scalar.device);
  return static_cast<double>(*static_cast<const float*>(scalar.device));
}

CBLAS_TRANSPOSE transposition(bool transposed) {
  return transposed ? CblasTrans : CblasNoTrans;
}

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, float alpha, const float* a,
          int lda, const float* b, int ldb, float beta, float* c, int ldc) {
  cblas_sgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, double alpha,
          const double* a, int lda, const double* b, int ldb, double beta, double* c, int ldc) {
  cblas_dgemm(CblasColMajor, ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, std::complex<float> alpha,
          const std::complex<float>* a, int lda, const std::complex<float>* b, int ldb,
          std::complex<float> beta, std::complex<float>* c, int ldc) {
  cblas_cgemm(CblasColMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, std::complex<double> alpha,
          const std::complex<double>* a, int lda, const std::complex<double>* b, int ldb,
          std::complex<double> beta, std::complex<double>* c, int ldc) {
  cblas_zgemm(CblasColMajor, ta, tb, m, n, k, &alpha, a, lda, b, ldb, &beta, c, ldc);
}

template <class T>
void run_in(const Product& p) {
  constexpr bool wide = std::is_same_v<T, double>;
  std::vector<T> a_store;
  std::vector<T> b_store;
  const auto [a, lda] = converted<T>(p.a, a_store);
  const auto [b, ldb] = converted<T>(p.b, b_store);
  auto* const d = static_cast<T*>(const_cast<void*>(p.d.data));
  const T beta = static_cast<T>(read(p.beta, wide));
  // OpenBLAS does not read what it multiplies by zero, nor may this.
  if (beta != 0) {
    copy_columns(static_cast<const T*>(p.c.data), p.c.ld, d, p.d.ld, p.d.rows, p.d.columns);
  }
  const std::int64_t k = p.a.transposed ? p.a.rows : p.a.columns;
  gemm(transposition(p.a.transposed), transposition(p.b.transposed), static_cast<int>(p.d.rows),
       static_cast<int>(p.d.columns), static_cast<int>(k), static_cast<T>(read(p.alpha, wide)), a,
       lda, b, ldb, beta, d, static_cast<int>(p.d.ld));
}

// Sums in FP32, which are rounded to D's 16 bits.
void run_narrow(const Product& product) {
  Product p = product;
  std::vector<float> sums(static_cast<std::size_t>(p.d.rows * p.d.columns));
  if (read(p.beta, false) != 0) converted<float>(p.c, sums);
  p.c = p.d = {sums.data(), CUDA_R_32F, false, p.d.rows, p.d.columns, p.d.rows};
  run_in<float>(p);
  auto* const d = static_cast<std::uint16_t*>(const_cast<void*>(product.d.data));
  for (std::int64_t j = 0; j < p.d.columns; ++j)
    for (std::int64_t i = 0; i < p.d.rows; ++i) {
      const float sum = sums[static_cast<std::size_t>(i + j * p.d.rows)];
      d[i + j * product.d.ld] = product.d.type == CUDA_R_16F ? to_half(sum) : to_bfloat16(sum);
    }
}

bool fits_int(const Operand& x) {
  return x.columns <= INT_MAX && x.ld <= INT_MAX;
}

}  // namespace

std::size_t bytes_of(cudaDataType type) {
  return type == CUDA_R_64F ? 8 : type == CUDA_R_32F ? 4 : 2;
}

bool check_scalar(const void* at, cudaDataType type, bool in_device_memory) {
  return in_device_memory ? on_device(at, bytes_of(type)) : at != nullptr && !on_device(at, 1);
}

Scalar make_scalar(const void* at, cudaDataType type, bool in_device_memory) {
  if (in_device_memory) return {at, 0};
  return {nullptr, read({at, 0}, type == CUDA_R_64F)};
}

/// The type of alpha and beta for a result of this type.
cudaDataType scale_type(cudaDataType result) {
  return result == CUDA_R_64F ? CUDA_R_64F : CUDA_R_32F;
}

bool supported(cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType d,
               cublasComputeType_t compute, cudaDataType scale) {
  if (a != b || c != d || scale != scale_type(c)) return false;
  if (c == CUDA_R_64F) return a == CUDA_R_64F && compute == CUBLAS_COMPUTE_64F;
  if ((c != CUDA_R_32F && c != a) || a == CUDA_R_64F) return false;
  return compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC;
}

bool check(const Product& p) {
  const auto rows = [](const Operand& x) { return x.transposed ? x.columns : x.rows; };
  const auto columns = [](const Operand& x) { return x.transposed ? x.rows : x.columns; };
  if (rows(p.a) != p.d.rows || columns(p.b) != p.d.columns || columns(p.a) != rows(p.b))
    return false;
  if (p.c.rows != p.d.rows || p.c.columns != p.d.columns) return false;
  if (p.c.data == p.d.data && p.c.ld != p.d.ld) return false;
  for (const Operand* x : {&p.a, &p.b, &p.c, &p.d}) {
    if (!fits_int(*x) || !on_device(x->data, x->rows, x->columns, x->ld, bytes_of(x->type))) {
      return false;
    }
  }
  return true;
}

void run(const Product& product) {
  spoil(product.workspace, product.workspace_bytes);
  if (product.d.type == CUDA_R_64F) {
    run_in<double>(product);
  } else if (bytes_of(product.d.type) == 2) {
    run_narrow(product);
  } else {
    run_in<float>(product);
  }
}

namespace {

cublasStatus_t multiply(cublasHandle_t handle, const Product& shape, const void* alpha,
                        const void* beta) {
  if (handle == nullptr || !known(handle->stream)) return CUBLAS_STATUS_NOT_INITIALIZED;
  Product p = shape;
  const cudaDataType type = scale_type(p.d.type);
  const bool in_device_memory = handle->mode == CUBLAS_POINTER_MODE_DEVICE;
  const std::int64_t k = p.a.transposed ? p.a.rows : p.a.columns;
  if (p.d.rows < 0 || p.d.columns < 0 || k < 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (p.d.rows == 0 || p.d.columns == 0) return CUBLAS_STATUS_SUCCESS;
  if (!check_scalar(alpha, type, in_device_memory) || !check_scalar(beta, type, in_device_memory) ||
      !check(p)) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  p.alpha = make_scalar(alpha, type, in_device_memory);
  p.beta = make_scalar(beta, type, in_device_memory);
  p.workspace = handle->workspace;
  p.workspace_bytes = handle->workspace_bytes;
  if (type == CUDA_R_64F && is_emulated(handle->fp64, k))
    enqueue(handle->stream, {emulated(p, handle->fp64), {}});
  else
    enqueue(handle->stream, {[p] { run(p); }, {}});
  return CUBLAS_STATUS_SUCCESS;
}

Operand operand(const void* data, cudaDataType type, cublasOperation_t operation, std::int64_t rows,
                std::int64_t columns, std::int64_t ld) {
  const bool transposed = operation != CUBLAS_OP_N;
  return {data, type, transposed, transposed ? columns : rows, transposed ? rows : columns, ld};
}

template <class T, class Number>
cublasStatus_t multiply_complex(cublasHandle_t handle, cublasOperation_t transa,
                                cublasOperation_t transb, std::int64_t m, std::int64_t n,
                                std::int64_t k, const Number* alpha, const Number* a,
                                std::int64_t lda, const Number* b, std::int64_t ldb,
                                const Number* beta, Number* c, std::int64_t ldc) {
  using Z = std::complex<T>;
  if (handle == nullptr || !known(handle->stream)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid(transa) || !valid(transb) || std::min({m, n, k}) < 0)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (m == 0 || n == 0) return CUBLAS_STATUS_SUCCESS;
  const bool in_device_memory = handle->mode == CUBLAS_POINTER_MODE_DEVICE;
  const auto is_there = [](cublasOperation_t op, const Number* at, std::int64_t rows,
                           std::int64_t columns, std::int64_t ld) {
    if (op != CUBLAS_OP_N) std::swap(rows, columns);
    return is_aligned<T>(at) && on_device(at, rows, columns, ld, sizeof(Z));
  };
  if (std::max({m, n, k, lda, ldb, ldc}) > INT_MAX || !is_aligned<T>(alpha) ||
      !is_aligned<T>(beta) || !Reader<Z>::check(numbers<T>(alpha), in_device_memory) ||
      !Reader<Z>::check(numbers<T>(beta), in_device_memory) || !is_there(transa, a, m, k, lda) ||
      !is_there(transb, b, k, n, ldb) || !is_there(CUBLAS_OP_N, c, m, n, ldc))
    return CUBLAS_STATUS_INVALID_VALUE;
  const Reader<Z> factor(numbers<T>(alpha), in_device_memory);
  const Reader<Z> kept(numbers<T>(beta), in_device_memory);
  const cublasContext used = *handle;
  enqueue(used.stream, {[=] {
                          spoil(used.workspace, used.workspace_bytes);
                          gemm(cblas(transa), cblas(transb), static_cast<int>(m),
                               static_cast<int>(n), static_cast<int>(k), factor(), numbers<T>(a),
                               static_cast<int>(lda), numbers<T>(b), static_cast<int>(ldb), kept(),
                               numbers<T>(c), static_cast<int>(ldc));
                        },
                        {}});
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace speedwell::emulation

using namespace speedwell::emulation;

cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  return blas_call("cublasCreate", [&] {
    note_if_messages_wait("cublasCreate");
    *handle = new cublasContext;
    ++state().handles;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  const std::lock_guard lock(state().mutex);
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  complete(handle->stream);
  delete handle;
  --state().handles;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream(cublasHandle_t handle, cudaStream_t stream) {
  return blas_call("cublasSetStream", [&] {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!known(stream)) return CUBLAS_STATUS_INVALID_VALUE;
    handle->stream = stream;
    handle->workspace = nullptr;  // is forgotten, as by cuBLAS
    handle->workspace_bytes = 0;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetWorkspace(cublasHandle_t handle, void* workspace, std::size_t bytes) {
  return blas_call("cublasSetWorkspace", [&] {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0 ||
        (bytes > 0 && !on_device(workspace, bytes))) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    handle->workspace = bytes > 0 ? workspace : nullptr;
    handle->workspace_bytes = bytes;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetPointerMode(cublasHandle_t handle, cublasPointerMode_t mode) {
  return blas_call("cublasSetPointerMode", [&] {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    handle->mode = mode;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasSetSmCountTarget(cublasHandle_t handle, int multiprocessors) {
  return blas_call("cublasSetSmCountTarget", [&] {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (multiprocessors < 0 || multiprocessors > state().settings.multiprocessors)
      return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;  // takes as long as before
  });
}

const char* cublasGetStatusString(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
    default:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
  }
}

cublasStatus_t cublasCgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, std::int64_t m, std::int64_t n,
                              std::int64_t k, const cuComplex* alpha, const cuComplex* a,
                              std::int64_t lda, const cuComplex* b, std::int64_t ldb,
                              const cuComplex* beta, cuComplex* c, std::int64_t ldc) {
  return blas_call("cublasCgemm_64", [&] {
    return multiply_complex<float>(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                   ldc);
  });
}

cublasStatus_t cublasZgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, std::int64_t m, std::int64_t n,
                              std::int64_t k, const cuDoubleComplex* alpha,
                              const cuDoubleComplex* a, std::int64_t lda, const cuDoubleComplex* b,
                              std::int64_t ldb, const cuDoubleComplex* beta, cuDoubleComplex* c,
                              std::int64_t ldc) {
  return blas_call("cublasZgemm_64", [&] {
    return multiply_complex<double>(handle, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                    ldc);
  });
}

namespace {

cublasStatus_t any_gemm(const char* function, cublasHandle_t handle, cublasOperation_t transa,
                        cublasOperation_t transb, std::int64_t m, std::int64_t n, std::int64_t k,
                        const void* alpha, const Operand& a, const Operand& b, const void* beta,
                        void* c, cudaDataType c_type, std::int64_t ldc) {
  return blas_call(function, [&] {
    if (!valid(transa) || !valid(transb)) return CUBLAS_STATUS_INVALID_VALUE;
    const Operand d = operand(c, c_type, CUBLAS_OP_N, m, n, ldc);
    const Product product{operand(a.data, a.type, transa, m, k, a.ld),
                          operand(b.data, b.type, transb, k, n, b.ld),
                          d,
                          d,
                          {},
                          {},
                          nullptr,
                          0};
    return multiply(handle, product, alpha, beta);
  });
}

}  // namespace

cublasStatus_t cublasSgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, std::int64_t m, std::int64_t n,
                              std::int64_t k, const float* alpha, const float* a, std::int64_t lda,
                              const float* b, std::int64_t ldb, const float* beta, float* c,
                              std::int64_t ldc) {
  return any_gemm("cublasSgemm_64", handle, transa, transb, m, n, k, alpha,
                  {a, CUDA_R_32F, false, 0, 0, lda}, {b, CUDA_R_32F, false, 0, 0, ldb}, beta, c,
                  CUDA_R_32F, ldc);
}

cublasStatus_t cublasDgemm_64(cublasHandle_t handle, cublasOperation_t transa,
                              cublasOperation_t transb, std::int64_t m, std::int64_t n,
                              std::int64_t k, const double* alpha, const double* a,
                              std::int64_t lda, const double* b, std::int64_t ldb,
                              const double* beta, double* c, std::int64_t ldc) {
  return any_gemm("cublasDgemm_64", handle, transa, transb, m, n, k, alpha,
                  {a, CUDA_R_64F, false, 0, 0, lda}, {b, CUDA_R_64F, false, 0, 0, ldb}, beta, c,
                  CUDA_R_64F, ldc);
}

cublasStatus_t cublasGemmEx_64(cublasHandle_t handle, cublasOperation_t transa,
                               cublasOperation_t transb, std::int64_t m, std::int64_t n,
                               std::int64_t k, const void* alpha, const void* a,
                               cudaDataType a_type, std::int64_t lda, const void* b,
                               cudaDataType b_type, std::int64_t ldb, const void* beta, void* c,
                               cudaDataType c_type, std::int64_t ldc,
                               cublasComputeType_t compute_type, cublasGemmAlgo_t) {
  if (!supported(a_type, b_type, c_type, c_type, compute_type, scale_type(c_type))) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return any_gemm("cublasGemmEx_64", handle, transa, transb, m, n, k, alpha,
                  {a, a_type, false, 0, 0, lda}, {b, b_type, false, 0, 0, ldb}, beta, c, c_type,
                  ldc);
}
