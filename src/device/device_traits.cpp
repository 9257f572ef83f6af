// SPDX-License-Identifier: BSD-3-Clause
#include "device/device_traits.hpp"

#include <lupine/error.hpp>

namespace lupine {

namespace {

// The program and the buffers of MPI and BLAS: measured in a run with n = 1, with some room.
constexpr double process_bytes = 100e6;

constexpr DeviceTraits cpu{
    .fast_low = Engine::cpu_fast,
    .other_low = Engine::cpu_other,
    .fp64 = Engine::cpu_fp64,
    .memory_fraction = 0.8,  // the system and other programs use the same memory
    .fixed_bytes = process_bytes,
    .host_bytes = process_bytes,
    .trial_order = 2048,
    .trial_width = 512,
    .assumed_low = 1e9,  // small problems spend their time elsewhere
    .assumed_fp32 = 1e9,
    .assumed_fp64 = 0.5e9,
    .emulated_columns = 1024,  // a product reaches its full rate, and the copy is small
    .solve_vectors = 0,        // solved in place
    .solve_columns = 0,
};

constexpr DeviceTraits cuda{
    .fast_low = Engine::cuda_low,
    .other_low = Engine::cuda_low,
    .fp64 = Engine::cuda_fp64,
    .memory_fraction = 0.95,  // no other program uses the GPU's memory
    .fixed_bytes = 700e6,     // workspaces of products, and kernels, which are loaded at first use
    .host_bytes = process_bytes + 400e6,  // 400 MB for the driver
    .trial_order = 8192,
    .trial_width = 2048,
    .assumed_low = 16e9,  // tensor cores
    .assumed_fp32 = 1e9,
    .assumed_fp64 = 1e9,
    .emulated_columns = 0,   // tensor cores multiply FP16 and BF16
    .solve_vectors = 32768,  // as in device/cuda/cuda_solves.cpp
    .solve_columns = 256,    // cuda::triangle_order
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
