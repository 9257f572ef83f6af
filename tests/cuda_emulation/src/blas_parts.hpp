// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What all functions of cuBLAS have in common: how they read scalars and matrices.
#pragma once

#include <cblas.h>
#include <cublas_v2.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "emulation.hpp"

namespace speedwell::emulation {

inline bool valid(cublasOperation_t operation) {
  return operation >= CUBLAS_OP_N && operation <= CUBLAS_OP_C;
}

inline CBLAS_TRANSPOSE cblas(cublasOperation_t operation) {
  return operation == CUBLAS_OP_N   ? CblasNoTrans
         : operation == CUBLAS_OP_T ? CblasTrans
                                    : CblasConjTrans;
}
inline CBLAS_SIDE cblas(cublasSideMode_t side) {
  return side == CUBLAS_SIDE_LEFT ? CblasLeft : CblasRight;
}
inline CBLAS_UPLO cblas(cublasFillMode_t uplo) {
  return uplo == CUBLAS_FILL_MODE_LOWER ? CblasLower : CblasUpper;
}
inline CBLAS_DIAG cblas(cublasDiagType_t diag) {
  return diag == CUBLAS_DIAG_UNIT ? CblasUnit : CblasNonUnit;
}

/// A scalar as the work will read it: now, or where device memory has it then.
template <class T>
class Reader {
 public:
  Reader(const T* at, bool in_device_memory)
      : at_(in_device_memory ? at : nullptr), value_(in_device_memory ? T(0) : *at) {}
  static bool check(const T* at, bool in_device_memory) {
    return in_device_memory ? on_device(at, sizeof(T)) : at != nullptr && !on_device(at, 1);
  }
  T operator()() const { return at_ ? *at_ : value_; }

 private:
  const T* at_;
  T value_;
};

/// Complex numbers as cuBLAS takes them: aligned to their size.
template <class T, class Number>
bool is_aligned(const Number* at) {
  return reinterpret_cast<std::uintptr_t>(at) % sizeof(std::complex<T>) == 0;
}
template <class T, class Number>
const std::complex<T>* numbers(const Number* at) {
  return reinterpret_cast<const std::complex<T>*>(at);
}
template <class T, class Number>
std::complex<T>* numbers(Number* at) requires(!std::is_const_v<Number>) {
  return reinterpret_cast<std::complex<T>*>(at);
}

template <class T>
void copy_columns(const T* from, std::int64_t from_ld, T* to, std::int64_t to_ld, std::int64_t rows,
                  std::int64_t columns) {
  if (from == to) return;
  for (std::int64_t j = 0; j < columns; ++j) {
    std::copy_n(from + j * from_ld, rows, to + j * to_ld);
  }
}

/// Overwrites the beginning of a workspace, which a library would.
inline void spoil(void* workspace, std::size_t bytes) {
  if (workspace != nullptr) std::memset(workspace, 0xff, std::min<std::size_t>(bytes, 65536));
}

}  // namespace speedwell::emulation
