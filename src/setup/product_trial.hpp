// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A device's products, timed alone.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <memory>

#include "core/clock.hpp"
#include "device/device.hpp"

namespace lupine {

/// What a trial times: the benchmark's own update, or C - L U of what C stores (sgemm, dgemm).
enum class Product { update, gemm };

/// C of rows x columns <- C + L U or C - L U on random numbers, L and U of `width` columns and
/// rows.
class ProductTrial {
 public:
  /// @param precision what the product reads: for a gemm fp32 or fp64
  /// @throws Fault where memory is short
  ProductTrial(Device& device, Product product, Precision precision, std::int64_t rows,
               std::int64_t columns, std::int64_t width);

  double flops() const;
  /// One product.
  /// @param poll of an update, see Device
  void run(const Poll& poll);

 private:
  static constexpr std::int64_t control_room = 64;
  /// The memory of C as a matrix of this shape.
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

}  // namespace lupine
