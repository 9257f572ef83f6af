// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrix products by cuBLASLt, C <- alpha A B + beta C with FP32 sums and 64-bit sizes. Algorithms
/// are chosen once for each class of shapes: the first that cuBLASLt's heuristic offers, or in a
/// rehearsal the one that ran fastest of several.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <vector>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "device/cuda/lane.hpp"
#include "device/cuda/product_trials.hpp"

namespace lupine {

/// The precision in which a product reads its factors. tf32 and fp32 factors are stored in FP32.
enum class Reading { fp16, bf16, tf32, fp32, fp64 };

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

/// The products of one device, and the algorithms that were chosen for them.
class Products {
 public:
  Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;
  ~Products();

  /// C <- alpha A B + beta C.
  void multiply(Lane& lane, Reading reading, float alpha, const Factor& a, const Factor& b,
                float beta, MatrixView<float> c);
  /// C <- C + alpha A B. alpha is in device memory.
  void add(Lane& lane, Reading reading, const float* alpha, const Factor& a, const Factor& b,
           MatrixView<float> c);
  /// C <- C + alpha A B in FP64, by cuBLAS.
  void add(Lane& lane, double alpha, MatrixView<const double> a, MatrixView<const double> b,
           MatrixView<double> c);

  /// While on, only the first product of each class of shapes is computed: see Device::rehearse.
  /// If it is large, the algorithms that cuBLASLt offers for it are timed before. Turning the
  /// rehearsal off chooses by these times. The GPU should be done by then: what is not timed yet
  /// stays in the heuristic's order.
  void rehearse(bool on);

 private:
  struct Call;
  /// A class of shapes: reading; numbers of bits of m and n; k; alignments of A, B and C;
  /// multiprocessors; whether scalars are in device memory.
  using Shape = std::tuple<Reading, int, int, std::int64_t, int, int, int, int, bool>;
  void run(Lane& lane, const Call& call, const float* alpha, const float* beta);
  cublasStatus_t start(Lane& lane, const Call& call, const cublasLtMatmulAlgo_t& algorithm,
                       const float* alpha, const float* beta) const;
  using Algorithm = std::optional<cublasLtMatmulAlgo_t>;
  Algorithms offers(const Call& call, int most) const;
  void try_offers(Lane& lane, const Call& call, const float* beta);
  bool suits(const Call& call, const cublasLtMatmulAlgo_t& algorithm) const;
  Algorithm algorithm(const Call& call);
  Algorithms algorithms_like(const Shape& shape) const;
  void run_anyway(Lane& lane, const Call& call, const float* alpha, const float* beta);
  bool left_out(const Shape& shape);

  cublasLtHandle_t handle_ = nullptr;
  struct Scalars;
  Buffer scalars_;
  /// The algorithms of a class, of which a product takes the first that suits it; none if cuBLASLt
  /// cannot compute it.
  std::map<Shape, Algorithms> algorithms_;
  bool rehearsing_ = false;
  bool rehearsed_once_ = false;
  std::set<Shape> rehearsed_;
  std::map<Shape, ProductTrials> trials_;  ///< of this rehearsal
  std::set<Shape> tried_;                  ///< in this rehearsal or an earlier one
};

}  // namespace lupine
