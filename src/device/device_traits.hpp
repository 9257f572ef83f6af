// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What is known of a kind of device before there is one: numbers that plan a run. A new kind of
/// device is a row of device_traits.cpp and a folder beside device/cpu.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>

namespace lupine {

/// What updates, and how fast beside its memory: block sizes are chosen by it, in setup/defaults.
enum class Engine { cpu_bf16, cpu_other, cpu_fp64, cuda_low, cuda_fp64 };

struct DeviceTraits {
  Engine native_low;  ///< that updates by 16-bit instructions
  Engine other_low;   ///< that updates where there are none, or by FP32
  Engine fp64;

  double memory_fraction;  ///< of the free memory, what a chosen n may take
  double fixed_bytes;      ///< of its memory, that a process takes beside matrices and vectors
  double host_bytes;       ///< of its host's memory; of meaning where the device has its own
  /// Columns of U that an emulated update reads in FP32 at once, beside all of L in FP32; 0: it
  /// needs no such copies.
  std::int64_t emulated_columns;
  /// Columns of a panel whose solve at once keeps two 16-bit parts of each value; 0: it keeps none.
  std::int64_t solve_columns;
};

/// Pure: asks no device. @throws Fault for `automatic`, which is no device
const DeviceTraits& traits_of(DeviceKind kind);

}  // namespace lupine
