// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Norms of residuals, estimated without computing the residuals.
#pragma once

#include <cstdint>

#include "device/device.hpp"
#include "refine/system.hpp"
#include "refine/vectors.hpp"

namespace speedwell {

/// Estimates ||R b - R A C y||_2 of many y at the cost of O(n) each: W^T (R b - R A C y) =
/// W^T R b - (W^T R A C) y, where W has `combinations` columns of independent random numbers,
/// uniform in (-sqrt(3), sqrt(3)), so that their variance is 1. The mean square of these numbers
/// has the expectation ||r||_2^2, whatever r is (D. Achlioptas, J. Comput. Syst. Sci. 66, 2003). An
/// estimate is below a quarter of the norm with a probability of at most 1.4e-7 (see
/// docs/numerics.md), and its own roundings add at most some n eps (||R A C||_F ||y||_2 + ||R
/// b||_2). Members are collective.
class ResidualSketch {
 public:
  static constexpr std::int64_t combinations = 16;
  /// An estimate is taken for the norm after multiplication by this.
  static constexpr double certainty = 4;

  /// Computes W^T R A C, for a system whose A is held in memory. @param seed of W
  ResidualSketch(System& system, Device& device, std::uint64_t seed);

  struct Estimates {
    Vector residuals;  ///< of ||r||_2
    Vector errors;     ///< of ||r||_2 / (||R A C||_F ||y||_2 + ||R b||_2); 0/0 counts as 0
  };
  /// NaN counts as infinity. @param b R b
  Estimates estimate(const MultiVector& y, const MultiVector& b);

 private:
  MultiVector project(const Buffer& onto, const MultiVector& v, const Communicator& ranks);
  void put(const MultiVector& v, Buffer& memory);

  System& system_;
  Device& device_;
  std::unique_ptr<Queue> queue_;
  Buffer of_b_;     // W
  Buffer of_x_;     // (R A C)^T W
  Buffer vectors_;  // those that are projected
  Buffer results_;
  double norm_ = 0;  // ||R A C||_F, estimated
};

}  // namespace speedwell
