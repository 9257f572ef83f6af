// SPDX-License-Identifier: BSD-3-Clause
#include "device/device.hpp"

#include <fmt/format.h>

#include <utility>

#include <speedwell/error.hpp>

#include "core/expects.hpp"
#include "device/out_of_memory.hpp"

namespace speedwell {

void Device::multiply_extended(Queue& /*queue*/, Transpose /*transpose*/, ConstAnyMatrix /*a*/,
                               MatrixView<const double> /*x*/, MatrixView<double> /*ax*/,
                               double* /*abs_rows*/, MatrixView<double> /*abs_ax*/,
                               MatrixChecksum* /*checksum*/) {
  SPEEDWELL_EXPECTS(multiplies_extended());
}

MemoryFault out_of_memory(std::int64_t bytes, std::string_view words) {
  return MemoryFault(
      fmt::format("out of memory: {:.3g} GiB {}", static_cast<double>(bytes) / 0x1p30, words));
}

bool Device::can_read(const void* data) const {
  return data == nullptr || !in_gpu_memory(data);
}

std::unique_ptr<PeerGroup> Device::join_peers(std::span<const std::byte>, int, int) {
  throw Fault("this device sends to no other without its host");
}

}  // namespace speedwell
