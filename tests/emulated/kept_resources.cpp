// SPDX-License-Identifier: BSD-3-Clause
// A test that begins with new GPUs begins without what earlier solves have kept of theirs.
#include <cuda_emulation.hpp>

#include "device/device.hpp"

namespace speedwell::test {
namespace {

[[maybe_unused]] const bool released_first = [] {
  emulation::before_restart() = [] { release_gpus(); };
  return true;
}();

}  // namespace
}  // namespace speedwell::test
