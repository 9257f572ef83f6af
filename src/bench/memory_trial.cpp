// SPDX-License-Identifier: BSD-3-Clause
#include "bench/memory_trial.hpp"

#include <algorithm>
#include <cmath>

namespace speedwell {

namespace {
constexpr double most_of_a_gpu = 8e9;  // more takes longer, and shows the same rate
constexpr double least = 1e6;
}  // namespace

MemoryTrial::MemoryTrial(Device& device, int threads, int node_ranks, double most)
    : device_(device) {
  if (device.shares_host_memory()) {
    const std::int64_t bytes =
        std::min(memory_pass_bytes(node_ranks), static_cast<std::int64_t>(std::max(most, least)));
    bytes_ = static_cast<double>(bytes);
    host_.emplace(bytes, threads);
    return;
  }
  order_ = static_cast<std::int64_t>(std::sqrt(std::clamp(most, least, most_of_a_gpu) / 16));
  bytes_ = 16 * static_cast<double>(order_ * order_);
  queue_ = device.make_queue(Priority::normal);
  from_ = device.allocate(8 * order_ * order_);
  to_ = device.allocate(8 * order_ * order_);
  device.clear(*queue_, {from_.data(), static_cast<std::size_t>(from_.bytes())});
}

void MemoryTrial::run() {
  if (host_) return host_->pass(MemoryPass::triad);
  device_.copy(*queue_, MatrixView<const double>{from_.as<double>(), order_, order_, order_},
               MatrixView<double>{to_.as<double>(), order_, order_, order_});
  queue_->synchronize();
}

}  // namespace speedwell
