// SPDX-License-Identifier: BSD-3-Clause
#include "setup/update_rate.hpp"

#include <algorithm>

#include "core/fastest.hpp"
#include "setup/product_trial.hpp"

namespace lupine {

double update_rate(Device& device, Precision precision, std::int64_t width, double seconds) {
  const Clock& clock = device.run().clock();
  const double end = clock.now() + seconds;
  double best = 0;
  // A fast device needs a large product to show its rate; a slow one spends its time at the first.
  const std::int64_t largest = device.shares_host_memory() ? 4096 : 16384;
  for (std::int64_t size = 1024; size <= largest; size *= 2) {
    ProductTrial trial(device, Product::update, precision, size, size, width);
    const auto update = [&] { trial.run([] {}); };
    update();  // not timed: the first call prepares kernels
    double shortest = fastest(clock, 0, update);
    while (clock.now() < end && (size == largest || shortest > seconds / 8))
      shortest = std::min(shortest, fastest(clock, 0, update));
    best = std::max(best, trial.flops() / shortest);
    if (clock.now() >= end) break;
  }
  return best;
}

}  // namespace lupine
