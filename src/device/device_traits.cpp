// SPDX-License-Identifier: BSD-3-Clause
#include "device/device_traits.hpp"

#include <speedwell/error.hpp>

#include <algorithm>

#include "core/scalar.hpp"
#include "device/cpu/tiled_update.hpp"

namespace speedwell {

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
    .trial_noise = 1.03,
    .correction_order = 100,   // Zen 4, n = 16384: 0.6 %
    .emulated_columns = 1024,  // a product reaches its full rate, and the copy is small
    .solves_in_copies = false,
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
    .trial_noise = 1.015,
    .correction_order = 1500,  // H200, n = 184320: 0.8 %
    .emulated_columns = 0,     // tensor cores multiply FP16 and BF16
    .solves_in_copies = true,
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

std::int64_t scratch_bytes(const LuPlan& plan) {
  const Precision p = plan.precision;
  if (p == storage_for(p)) return 0;  // the update and the solves make no copies
  const std::int64_t rows = plan.parts() * plan.rows().local_size();
  const std::int64_t columns = plan.columns().local_size();
  const std::int64_t width = plan.parts() * plan.width;
  const DeviceTraits& traits = traits_of(plan.device);
  // Solves for FP16x3 are those for FP32, and so are complex ones.
  const bool copies = traits.solves_in_copies && bytes_of(p) == 2 && plan.field == Field::real;
  const std::int64_t vectors = std::min(std::max(rows, columns), DeviceTraits::solve_vectors);
  const std::int64_t solves = copies ? vectors * (width + 3 * DeviceTraits::solve_strip) * 2 : 0;
  if (traits.emulated_columns == 0) return solves;
  const std::int64_t at_once = std::min(columns, traits.emulated_columns);
  const std::int64_t sums = plan.narrow ? std::min(rows, DeviceTraits::narrow_rows) * at_once *
                                              std::int64_t{sizeof(float)}
                                        : 0;
  if (plan.native)
    return solves + sums + (p == Precision::bf16 ? TiledUpdate::bytes(rows, width) : 0);
  const std::int64_t emulated = rows + at_once;
  return solves + sums + emulated * width * planes_of(p) * std::int64_t{sizeof(float)};
}

}  // namespace speedwell
