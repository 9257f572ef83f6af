// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Facts about each kind of device, for planning a run before a device is made. A new kind of
/// device needs a row in device_traits.cpp and a folder beside device/cpu.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>

#include "grid/lu_plan.hpp"

namespace speedwell {

/// The kind of processor and precision that the update runs with. setup/defaults.cpp chooses block
/// sizes by it.
enum class Engine { cpu_fast, cpu_other, cpu_fp64, cuda_low, cuda_fp64 };

struct DeviceTraits {
  Engine fast_low;   ///< engine of a 16-bit update that is much faster than FP32's
  Engine other_low;  ///< engine of other 16-bit updates, and of an FP32 update
  Engine fp64;       ///< engine of an FP64 update

  double memory_fraction;  ///< part of the free memory that a run with a chosen n may use
  double fixed_bytes;      ///< device memory that a process uses beside matrices and vectors
  double host_bytes;       ///< host memory of a process; counts if the device has its own memory
  /// Rows of the products by which the rates of one or two threads, or of one GPU, are measured.
  std::int64_t trial_order;
  std::int64_t trial_width;  ///< the inner dimension of these products
  /// Flop/s of a rank's updates with 16-bit, FP32 and FP64 operands, where a problem is too small
  /// for a measurement. Only their ratios count.
  double assumed_low, assumed_fp32, assumed_fp64;
  double trial_noise;  ///< rates within this factor count as equal: trials differ by as much
  /// The order of an HPL-MxP in which a correction takes as long as the factorization. The share of
  /// a correction is that order over n.
  double correction_order;
  /// An emulated update copies all of L, and this many columns of U at a time, to FP32. 0: it makes
  /// no such copies.
  std::int64_t emulated_columns;
  /// An update with such copies of a C of 16 bits sums at most so many rows, and emulated_columns,
  /// at a time in FP32.
  static constexpr std::int64_t narrow_rows = 4096;
  /// Whether a solve whose result is rounded to 16 bits works on copies: at most solve_vectors rows
  /// of the panel (columns of the block row) at a time, which are enough for products at full rate.
  /// Of these it makes one 16-bit copy, and three more of solve_strip columns.
  bool solves_in_copies;
  static constexpr std::int64_t solve_vectors = 32768;
  static constexpr std::int64_t solve_strip = 256;

  /// The assumed flop/s of updates in this precision, which is not `automatic`.
  /// FP16x3 counts as FP32: a small problem does not spend its time in products.
  double assumed_rate(Precision precision) const {
    return precision == Precision::fp64                                     ? assumed_fp64
           : precision == Precision::fp32 || precision == Precision::fp16x3 ? assumed_fp32
                                                                            : assumed_low;
  }
};

/// The facts about this kind of device. Pure. @throws Fault for DeviceKind::automatic
const DeviceTraits& traits_of(DeviceKind kind);

/// Bytes that updates and solves of a plan take as scratch memory on the rank that takes the most:
/// FP32 copies for an emulated update or of a C of 16 bits, and 16-bit copies for solves and tiles.
std::int64_t scratch_bytes(const LuPlan& plan);

}  // namespace speedwell
