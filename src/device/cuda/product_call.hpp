// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One matrix product in the words of cuBLASLt, C <- alpha A B + beta C with FP32 sums, a C in FP32
/// or 16 bits, and 64-bit sizes.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "device/cuda/lane.hpp"

namespace speedwell {

/// The precision in which a product reads its factors.
enum class Reading { fp16, bf16, fp32, fp64 };
const char* name(Reading reading);

/// A factor of a product: a column-major matrix in device memory.
struct Factor {
  const void* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t ld = 0;
};

inline Factor factor_of(ConstAnyMatrix a) {
  return {a.data, a.rows, a.columns, a.ld};
}

using Algorithms = std::vector<cublasLtMatmulAlgo_t>;
bool same(const cublasLtMatmulAlgo_t& a, const cublasLtMatmulAlgo_t& b);
/// The library's numbers of an algorithm: "66: tile 21, stages 36, cluster 3, K in 1".
std::string words(const cublasLtMatmulAlgo_t& algorithm);

/// Products that share their algorithms.
struct ProductClass {
  Reading reading = Reading::fp32;
  int row_bits = 0;  ///< of the number of C's rows
  int column_bits = 0;
  std::int64_t inner = 0;                     ///< columns of A
  std::array<std::uint32_t, 3> alignments{};  ///< of A, B and C, in bytes
  int multiprocessors = 0;                    ///< to which the product is limited; 0: to none
  bool scalars_on_device = false;
  Precision sums = Precision::fp32;  ///< the precision of C
  auto operator<=>(const ProductClass&) const = default;
};
ProductClass class_of(Reading reading, std::int64_t rows, std::int64_t columns, std::int64_t inner,
                      int multiprocessors);

/// The descriptions that cuBLASLt needs of a product.
class ProductCall {
 public:
  /// @param multiprocessors that the product may use; 0: all
  /// @param scalars_on_device whether alpha and beta will be in device memory
  ProductCall(Reading reading, const Factor& a, const Factor& b, AnyMatrix c, int multiprocessors,
              bool scalars_on_device);
  const ProductClass& of() const { return class_; }
  std::int64_t rows() const { return c_.rows; }
  std::int64_t columns() const { return c_.columns; }
  double operations() const;

  /// The algorithms that the heuristic takes for the best ones, at most most_offered; none if there
  /// are none.
  Algorithms offers(cublasLtHandle_t handle, int most) const;
  static constexpr int most_offered = 8;
  /// Whether cuBLASLt takes this algorithm for this product, before it runs.
  bool suits(cublasLtHandle_t handle, const cublasLtMatmulAlgo_t& algorithm) const;
  /// Gives the product to the lane.
  cublasStatus_t start(cublasLtHandle_t handle, Lane& lane, const cublasLtMatmulAlgo_t& algorithm,
                       const float* alpha, const float* beta) const;
  /// The product by cuBLAS, which takes those that cuBLASLt may refuse, such as those of columns
  /// that are aligned only to their elements.
  void run_by_cublas(Lane& lane, const float* alpha, const float* beta) const;

 private:
  Factor a_;
  Factor b_;
  AnyMatrix c_;
  ProductClass class_;
  // cuBLASLt takes pointers that are not const, and changes nothing there.
  mutable cublasLtMatmulDescOpaque_t description_{};
  mutable cublasLtMatrixLayoutOpaque_t a_layout_{};
  mutable cublasLtMatrixLayoutOpaque_t b_layout_{};
  mutable cublasLtMatrixLayoutOpaque_t c_layout_{};
};

}  // namespace speedwell
