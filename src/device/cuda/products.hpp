// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrix products by cuBLASLt. Algorithms are chosen once for each class of products: the first
/// that cuBLASLt's heuristic offers, or in a rehearsal the one that ran fastest of several. A
/// product that is limited to some multiprocessors, on a lane that is not confined to them, takes,
/// where there is one, an algorithm that launches no more thread blocks: the limit is a hint, which
/// algorithms without a persistent kernel ignore.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/matrix_view.hpp"
#include "device/cuda/lane.hpp"
#include "device/cuda/launch_grid.hpp"
#include "device/cuda/product_call.hpp"
#include "device/cuda/product_trials.hpp"
#include "device/product_choice.hpp"

namespace speedwell {

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
  /// C <- C + alpha A B, for a C in FP32 or in the 16 bits of A and B, to which the FP32 sums are
  /// rounded then. alpha is in device memory.
  void add(Lane& lane, Reading reading, const float* alpha, const Factor& a, const Factor& b,
           AnyMatrix c);
  /// C <- beta C + alpha A B in FP64, by cuBLAS.
  void add(Lane& lane, double alpha, MatrixView<const double> a, MatrixView<const double> b,
           MatrixView<double> c, Fp64Products products = Fp64Products::native, double beta = 1);

  /// While on, only the first product of each class is computed: see Device::rehearse. If it is
  /// large, the algorithms that cuBLASLt offers for it are timed before. Turning the rehearsal off
  /// chooses by these times. The GPU should be done by then: what is not timed yet stays in the
  /// heuristic's order.
  void rehearse(bool on);
  bool rehearses() const { return rehearsing_; }
  /// From now on, a new class begins with what is known of one like it, as after a rehearsal.
  void reuse() { rehearsed_once_ = true; }

  /// The algorithms of all classes, for each class in the order in which products take them.
  std::vector<ProductChoice> choices() const;

 private:
  /// An algorithm that cuBLASLt has offered for a class.
  struct Candidate {
    cublasLtMatmulAlgo_t algorithm{};
    std::optional<LaunchedKernel> kernel{};                       ///< nothing where it is not known
    float milliseconds = std::numeric_limits<float>::infinity();  ///< of its fastest trial
    const char* refused = nullptr;                                ///< by cuBLASLt when it ran
  };
  /// What is known of a class. A product takes the first candidate that suits it.
  struct Known {
    std::int64_t rows = 0;  ///< of C in the first product
    std::int64_t columns = 0;
    std::vector<Candidate> candidates{};
    bool must_keep = false;  ///< whether nothing but the algorithm keeps to the limit
    bool is_small = false;   ///< too short to hold up a panel: takes what comes first
    bool complete = false;   ///< cuBLASLt has no further ones

    bool is_limited() const { return must_keep && !is_small; }
  };
  void run(Lane& lane, const ProductCall& call, const float* alpha, const float* beta);
  Known& known_as(Lane& lane, const ProductCall& call);
  bool get_more(Lane& lane, const ProductCall& call, Known& known);
  void ask(const ProductCall& call, Known& known, int most);
  void look_at_launches(Lane& lane, const ProductCall& call, Known& known);
  static void sort(const ProductClass& of, Known& known);
  void try_candidates(Lane& lane, const ProductCall& call, const float* beta);
  const std::pair<const ProductClass, Known>* class_like(const ProductClass& wanted) const;
  bool left_out(const ProductClass& of);

  cublasLtHandle_t handle_ = nullptr;
  struct Scalars;
  Buffer scalars_;
  std::map<ProductClass, Known> known_;
  bool rehearsing_ = false;
  bool rehearsed_once_ = false;
  std::set<ProductClass> rehearsed_;
  std::map<ProductClass, ProductTrials> trials_;  ///< of this rehearsal
  std::set<ProductClass> tried_;                  ///< in this rehearsal or an earlier one
};

}  // namespace speedwell
