// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Facts about each kind of device, for planning a run before a device is made. A new kind of
/// device needs a row in device_traits.cpp and a folder beside device/cpu.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>

namespace lupine {

/// The kind of processor and precision that the update runs with. setup/defaults.cpp chooses block
/// sizes by it.
enum class Engine { cpu_bf16, cpu_other, cpu_fp64, cuda_low, cuda_fp64 };

struct DeviceTraits {
  Engine native_low;  ///< engine of an update with 16-bit instructions
  Engine other_low;   ///< engine of an emulated 16-bit update, and of an FP32 update
  Engine fp64;        ///< engine of an FP64 update

  double memory_fraction;  ///< part of the free memory that a run with a chosen n may use
  double fixed_bytes;      ///< device memory that a process uses beside matrices and vectors
  double host_bytes;       ///< host memory of a process; counts if the device has its own memory
  /// An emulated update copies all of L, and this many columns of U at a time, to FP32. 0: it makes
  /// no such copies.
  std::int64_t emulated_columns;
  /// A solve for a panel splits this many of its columns at a time into two 16-bit parts. 0: it
  /// makes no such copies.
  std::int64_t solve_columns;
};

/// The facts about this kind of device. Pure. @throws Fault for DeviceKind::automatic
const DeviceTraits& traits_of(DeviceKind kind);

}  // namespace lupine
