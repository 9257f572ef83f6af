// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The rate of a device's products, by which precisions, orders and ceilings are measured.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <memory>

#include "core/clock.hpp"
#include "device/device.hpp"

namespace speedwell {

/// The product of a trial: the benchmark's update, C <- C + L U; or a plain one, C <- C - L U, with
/// L and U in the precision of C (sgemm, dgemm).
enum class Product { update, gemm };

/// A product on random numbers: C is rows x columns, L rows x width, U width x columns.
class ProductTrial {
 public:
  /// @param precision of L and U; for Product::gemm fp32 or fp64
  /// The first product is made here, not to be timed: it prepares kernels and scratch memory.
  /// @throws Fault where memory is short
  ProductTrial(Device& device, Product product, Precision precision, std::int64_t rows,
               std::int64_t columns, std::int64_t width);

  /// Flop/s of the fastest of several products: `seconds` and `least` are those of fastest().
  double rate(const Clock& clock, double seconds, int least = 1);

  /// Operations of a product.
  double flops() const;
  /// Computes one product, and waits for its end.
  void run();

 private:
  static constexpr std::int64_t control_room = 64;
  /// A view of C's memory as a matrix of this shape.
  AnyMatrix as_c(std::int64_t rows, std::int64_t columns) const;
  PanelControl* l_control() const;
  PanelControl* u_control() const;
  FactorStatus* status() const;
  void fill(std::int64_t rows, std::int64_t columns);

  Device& device_;
  Product product_;
  std::unique_ptr<Queue> queue_;
  Precision storage_;
  Buffer c_memory_;
  Buffer l_memory_;
  Buffer u_memory_;
  Buffer control_;
  AnyMatrix c_;
  AnyMatrix l_;
  AnyMatrix u_;
};

}  // namespace speedwell
