// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Products of matrices as tasks: what cuBLAS and cuBLASLt have in common.
#pragma once

#include "emulation.hpp"

namespace speedwell::emulation {

/// Read when the product is queued, or when it runs.
struct Scalar {
  const void* device = nullptr;
  double value = 0;
};

/// A factor of the result that `at` points to.
/// @pre check_scalar(at, ...)
Scalar make_scalar(const void* at, cudaDataType type, bool in_device_memory);
bool check_scalar(const void* at, cudaDataType type, bool in_device_memory);

struct Operand {
  const void* data;
  cudaDataType type;
  bool transposed;
  std::int64_t rows;  // as stored
  std::int64_t columns;
  std::int64_t ld;
};

/// D = alpha op(A) op(B) + beta C, summed in the type of C and D.
struct Product {
  Operand a, b, c, d;
  Scalar alpha, beta;
  void* workspace;
  std::size_t workspace_bytes;
};

std::size_t bytes_of(cudaDataType type);

/// Whether there are such products.
bool supported(cudaDataType a, cudaDataType b, cudaDataType c, cudaDataType d,
               cublasComputeType_t compute, cudaDataType scale);

/// Whether the sizes fit and all elements are in memory of a device.
bool check(const Product& product);

/// @pre check(product)
void run(const Product& product);

}  // namespace speedwell::emulation
