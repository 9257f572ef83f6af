// SPDX-License-Identifier: BSD-3-Clause
#include "device/device_traits.hpp"

#include <lupine/error.hpp>

namespace lupine {

namespace {

// Program, MPI's and BLAS's own buffers: what a run of n = 1 takes, measured, with some room.
constexpr double process_bytes = 100e6;

constexpr DeviceTraits cpu{
    .native_low = Engine::cpu_bf16,
    .other_low = Engine::cpu_other,
    .fp64 = Engine::cpu_fp64,
    .memory_fraction = 0.8,  // the system and other programs take of it too
    .fixed_bytes = process_bytes,
    .host_bytes = process_bytes,
    .emulated_columns = 1024,  // enough for a product's full rate, and little beside a panel
    .solve_columns = 0,        // solved in place
};

constexpr DeviceTraits cuda{
    .native_low = Engine::cuda_low,
    .other_low = Engine::cuda_low,
    .fp64 = Engine::cuda_fp64,
    .memory_fraction = 0.95,  // a GPU's memory is nobody else's
    .fixed_bytes = 700e6,     // workspaces of products, kernels that are loaded when first used
    .host_bytes = process_bytes + 400e6,  // what the driver takes for each process
    .emulated_columns = 0,                // tensor cores multiply FP16 and BF16
    .solve_columns = 256,                 // what one solve cuts a panel into
};

}  // namespace

const DeviceTraits& traits_of(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu:
      return cpu;
    case DeviceKind::cuda:
      return cuda;
    case DeviceKind::automatic:
      break;
  }
  throw Fault("traits of a device that is not chosen yet");
}

}  // namespace lupine
