// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// cuBLASLt. An algorithm remembers what its heuristic was told of alignment, and is refused for
/// less; the workspace that it asks for is spoiled when the product runs. Scalars in device memory
/// are refused unless 16 bytes divide their address.
#include <cublasLt.h>

#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "blas.hpp"

struct cublasLtContext {};

struct cublasLtMatmulPreferenceOpaque_t {
  std::uint64_t workspace = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::array<std::uint32_t, 4> alignment{256, 256, 256, 256};
};

namespace speedwell::emulation {
namespace {

using Layouts = std::array<cublasLtMatrixLayout_t, 4>;  // of A, B, C and D

/// What an algorithm holds.
struct Algorithm {
  std::uint32_t magic;
  std::uint32_t number;                   // among those of the settings
  std::array<std::uint16_t, 4> pointers;  // least alignment, bytes
  std::array<std::uint16_t, 4> columns;   // the same of the leading dimensions
  std::uint64_t workspace;
  std::array<std::uint32_t, 8> key;  // types and operations that it was made for
};
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
constexpr std::uint32_t magic = 0x4c75706eu;
constexpr std::uint64_t wanted_workspace = 1 << 16;
constexpr std::uint32_t least_alignment = 8;

std::array<std::uint32_t, 8> key_of(const cublasLtMatmulDescOpaque_t& op, const Layouts& x) {
  return {static_cast<std::uint32_t>(op.compute), static_cast<std::uint32_t>(op.scale),
          static_cast<std::uint32_t>(op.transa),  static_cast<std::uint32_t>(op.transb),
          static_cast<std::uint32_t>(x[0]->type), static_cast<std::uint32_t>(x[1]->type),
          static_cast<std::uint32_t>(x[2]->type), static_cast<std::uint32_t>(x[3]->type)};
}

/// The power of two that divides it, at most 256.
std::uint32_t alignment_of(std::uint64_t value) {
  return value % 256 == 0 ? 256 : 1u << std::countr_zero(value);
}

std::uint32_t column_alignment(const cublasLtMatrixLayoutOpaque_t& x) {
  return alignment_of(static_cast<std::uint64_t>(x.ld) * bytes_of(x.type));
}

cublasStatus_t check_shapes(const cublasLtMatmulDescOpaque_t* op, const Layouts& x) {
  if (op == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  for (const auto* one : x) {
    if (one == nullptr || one->rows == 0 || one->columns == 0 || one->ld <= 0 ||
        static_cast<std::uint64_t>(one->ld) < one->rows) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  const auto [a, b, c, d] = x;
  const auto m = op->transa == CUBLAS_OP_N ? a->rows : a->columns;
  const auto k = op->transa == CUBLAS_OP_N ? a->columns : a->rows;
  const auto n = op->transb == CUBLAS_OP_N ? b->columns : b->rows;
  if (k != (op->transb == CUBLAS_OP_N ? b->rows : b->columns) || m != d->rows || n != d->columns ||
      c->rows != d->rows || c->columns != d->columns) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return supported(a->type, b->type, c->type, d->type, op->compute, op->scale)
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t check_algorithm(const cublasLtMatmulDescOpaque_t& op, const Layouts& x,
                               const Algorithm& algorithm) {
  if (algorithm.magic != magic) return CUBLAS_STATUS_INVALID_VALUE;
  if (algorithm.key != key_of(op, x)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (x[3]->rows > state().settings.algorithms.at(algorithm.number).most_rows) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (column_alignment(*x[i]) < algorithm.columns[i]) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return CUBLAS_STATUS_SUCCESS;
}

bool aligned(const void* at, std::uint32_t bytes) {
  return reinterpret_cast<std::uintptr_t>(at) % bytes == 0;
}

Operand operand(const void* data, const cublasLtMatrixLayoutOpaque_t& x, cublasOperation_t trans) {
  return {data,
          x.type,
          trans != CUBLAS_OP_N,
          static_cast<std::int64_t>(x.rows),
          static_cast<std::int64_t>(x.columns),
          x.ld};
}

template <class T>
cublasStatus_t set(T& attribute, const void* value, std::size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&attribute, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

template <class T, class... Arguments>
cublasStatus_t make(T** object, Arguments... arguments) {
  *object = new T{arguments...};
  ++state().handles;
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t destroy(const T* object) {
  const std::lock_guard lock(state().mutex);
  if (object != nullptr) --state().handles;
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace speedwell::emulation

using namespace speedwell::emulation;

std::size_t cublasLtGetVersion() {
  return 130100;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return blas_call("cublasLtCreate", [&] { return make(handle); });
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return destroy(handle);
}

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t operation,
                                      cublasComputeType_t compute_type, cudaDataType scale_type) {
  return blas_call("cublasLtMatmulDescInit", [&] {
    if (operation == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *operation = {compute_type, scale_type,  CUBLASLT_POINTER_MODE_HOST,
                  CUBLAS_OP_N,  CUBLAS_OP_N, 0};
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t operation,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, std::size_t bytes) {
  return blas_call("cublasLtMatmulDescSetAttribute", [&] {
    if (operation == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    switch (attribute) {
      case CUBLASLT_MATMUL_DESC_POINTER_MODE:
        return set(operation->mode, value, bytes);
      case CUBLASLT_MATMUL_DESC_TRANSA:
        return set(operation->transa, value, bytes);
      case CUBLASLT_MATMUL_DESC_TRANSB:
        return set(operation->transb, value, bytes);
      case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET:
        return set(operation->multiprocessors, value, bytes);
    }
    return CUBLAS_STATUS_INVALID_VALUE;
  });
}

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type,
                                        std::uint64_t rows, std::uint64_t columns,
                                        std::int64_t ld) {
  return blas_call("cublasLtMatrixLayoutInit", [&] {
    if (layout == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    *layout = {type, rows, columns, ld};
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return blas_call("cublasLtMatmulPreferenceCreate", [&] { return make(preference); });
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, std::size_t bytes) {
  return blas_call("cublasLtMatmulPreferenceSetAttribute", [&] {
    if (preference == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES) {
      return set(preference->workspace, value, bytes);
    }
    if (attribute == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK) {
      return set(preference->reductions, value, bytes);
    }
    std::uint32_t alignment = 0;
    const int matrix = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
    if (matrix < 0 || matrix > 3 || set(alignment, value, bytes) != CUBLAS_STATUS_SUCCESS ||
        !std::has_single_bit(alignment)) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    preference->alignment[matrix] = std::min(alignment, 256u);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t operation,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* returned) {
  return blas_call("cublasLtMatmulAlgoGetHeuristic", [&] {
    const Layouts layouts{a, b, c, d};
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (preference == nullptr || results == nullptr || returned == nullptr || requested <= 0) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    *returned = 0;
    if (const auto status = check_shapes(operation, layouts)) return status;
    // Nothing says what the real one has for operands that are aligned to their elements alone: a
    // caller has to live without.
    for (std::size_t i = 0; i < 2; ++i)
      if (preference->alignment[i] < least_alignment) return CUBLAS_STATUS_NOT_SUPPORTED;
    Algorithm algorithm{magic, 0, {}, {}, 0, key_of(*operation, layouts)};
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      const std::uint32_t promised = preference->alignment[i];
      algorithm.pointers[i] = static_cast<std::uint16_t>(promised);
      algorithm.columns[i] =
          static_cast<std::uint16_t>(std::min(promised, column_alignment(*layouts[i])));
    }
    const auto& offered = state().settings.algorithms;
    for (; algorithm.number < offered.size() && *returned < requested; ++algorithm.number) {
      const OfferedAlgorithm& one = offered[algorithm.number];
      if (d->rows > one.most_rows) continue;
      if (one.in_place && (preference->reductions & CUBLASLT_REDUCTION_SCHEME_INPLACE) == 0) {
        continue;
      }
      // The first one wants memory, if there may be any; the others want none.
      algorithm.workspace =
          algorithm.number == 0 ? std::min(preference->workspace, wanted_workspace) : 0;
      results[(*returned)++] = {std::bit_cast<cublasLtMatmulAlgo_t>(algorithm),
                                algorithm.workspace,
                                CUBLAS_STATUS_SUCCESS,
                                1.0f,
                                {}};
    }
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algorithm,
                                                    cublasLtMatmulAlgoConfigAttributes_t attribute,
                                                    void* value, std::size_t bytes,
                                                    std::size_t* written) {
  return blas_call("cublasLtMatmulAlgoConfigGetAttribute", [&] {
    const std::size_t wanted = attribute == CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID ? 2 : 4;
    if (algorithm == nullptr || value == nullptr || bytes != wanted)
      return CUBLAS_STATUS_INVALID_VALUE;
    const auto held = std::bit_cast<Algorithm>(*algorithm);
    const std::uint32_t number = attribute == CUBLASLT_ALGO_CONFIG_ID ? held.number : 0;
    std::memcpy(value, &number, bytes);
    if (written != nullptr) *written = bytes;
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  return blas_call("cublasLtMatmulAlgoCheck", [&] {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (algorithm == nullptr || result == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    const Layouts layouts{a, b, c, d};
    if (const auto status = check_shapes(operation, layouts)) return status;
    const auto held = std::bit_cast<Algorithm>(*algorithm);
    if (const auto status = check_algorithm(*operation, layouts, held)) return status;
    *result = {*algorithm, held.workspace, CUBLAS_STATUS_SUCCESS, 1.0f, {}};
    return CUBLAS_STATUS_SUCCESS;
  });
}

namespace {

cublasStatus_t check_memory(const Algorithm& algorithm, const Product& p) {
  const void* const data[] = {p.a.data, p.b.data, p.c.data, p.d.data};
  for (std::size_t i = 0; i < 4; ++i) {
    if (!aligned(data[i], algorithm.pointers[i])) return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!aligned(p.workspace, 256) || p.workspace_bytes < algorithm.workspace ||
      (p.workspace_bytes > 0 && !on_device(p.workspace, p.workspace_bytes))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return check(p) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_INVALID_VALUE;
}

bool check_lt_scalar(const void* at, const cublasLtMatmulDescOpaque_t& op) {
  const bool in_device_memory = op.mode == CUBLASLT_POINTER_MODE_DEVICE;
  return check_scalar(at, op.scale, in_device_memory) && (!in_device_memory || aligned(at, 16));
}

}  // namespace

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t operation,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t stream) {
  return blas_call("cublasLtMatmul", [&] {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    const Layouts layouts{a_layout, b_layout, c_layout, d_layout};
    if (const auto status = check_shapes(operation, layouts)) return status;
    const bool in_device_memory = operation->mode == CUBLASLT_POINTER_MODE_DEVICE;
    // Without one, cuBLASLt looks for an algorithm that fits what it is given.
    const Algorithm held = algorithm != nullptr ? std::bit_cast<Algorithm>(*algorithm)
                                                : Algorithm{magic, 0, {1, 1, 1, 1},
                                                            {},    0, key_of(*operation, layouts)};
    if (const auto status = check_algorithm(*operation, layouts, held)) return status;
    Product p{operand(a, *a_layout, operation->transa),
              operand(b, *b_layout, operation->transb),
              operand(c, *c_layout, CUBLAS_OP_N),
              operand(d, *d_layout, CUBLAS_OP_N),
              {},
              {},
              workspace,
              workspace_bytes};
    if (const auto status = check_memory(held, p)) return status;
    const OfferedAlgorithm& chosen = state().settings.algorithms.at(held.number);
    const std::string name = "algorithm " + std::to_string(held.number);
    if (known(stream) && !stream->capture) {
      ++state().calls[name];
      if (stream->multiprocessors > 0) ++state().calls["product in a part"];
    }
    // Some real algorithms fail from 2^31 elements on.
    const bool too_far = d_layout->ld * static_cast<std::int64_t>(d_layout->columns) >
                         std::numeric_limits<std::int32_t>::max();
    if (chosen.refused || too_far) return CUBLAS_STATUS_NOT_SUPPORTED;
    if (!known(stream) || !check_lt_scalar(alpha, *operation) ||
        !check_lt_scalar(beta, *operation)) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    p.workspace_bytes = held.workspace;
    p.alpha = make_scalar(alpha, operation->scale, in_device_memory);
    p.beta = make_scalar(beta, operation->scale, in_device_memory);
    const std::chrono::duration<double, std::milli> longer(chosen.milliseconds);
    const int limit = operation->multiprocessors;
    if (stream->multiprocessors > 0 && limit != stream->multiprocessors)
      return CUBLAS_STATUS_INVALID_VALUE;
    const int blocks = chosen.blocks > 0 ? chosen.blocks
                       : limit > 0       ? limit
                                         : state().settings.multiprocessors;
    enqueue(stream, {.run =
                         [p, longer] {
                           if (longer.count() > 0) std::this_thread::sleep_for(longer);
                           run(p);
                         },
                     .launch = {name, {static_cast<unsigned>(blocks)}, {128}}});
    return CUBLAS_STATUS_SUCCESS;
  });
}
