// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/machine_times.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>

#include "bench/memory_trial.hpp"
#include "comm/agreement.hpp"
#include "core/fastest.hpp"
#include "device/device_traits.hpp"
#include "setup/product_trial.hpp"

namespace speedwell {

namespace {

constexpr double part_of_memory = 0.25;
// Parts of all seconds.
constexpr double part_of_operations = 0.8;
constexpr double part_of_bandwidth = 0.05;
constexpr double part_of_others = 0.01;
constexpr int planned_rounds = 4;
constexpr int most_rounds = 8;
constexpr double least_seconds = 1e-3;  // of a measurement: short operations are repeated
constexpr int most_repeats = 1000;
constexpr std::int64_t tile_order = 64;

}  // namespace

MachineTimes::MachineTimes(const Machine& machine, double seconds)
    : machine_(machine),
      all_(machine.all()),
      device_(machine.device()),
      clock_(machine.run().clock()),
      begin_(clock_.now()),
      seconds_(seconds) {}

double MachineTimes::room() const {
  const MemoryBudget budget = machine_.memory();
  return part_of_memory * std::min(budget.rank_free, budget.shared_free / budget.sharing);
}

double MachineTimes::elapsed() const {
  return all_.all_reduce(clock_.now() - begin_, Reduction::max);
}

double MachineTimes::slowest(double seconds, const std::function<void(int)>& work,
                             int times) const {
  double mine = 0;
  agree(all_, [&] {
    work(times);  // not timed: the first call prepares kernels
    mine = fastest(clock_, seconds, [&] { work(times); }) / times;
  });
  return all_.all_reduce(mine, Reduction::max);
}

// The largest shapes of a run for which there are time and memory.
std::int64_t MachineTimes::choose_order() const {
  const DeviceTraits& traits = traits_of(device_.kind());
  constexpr std::int64_t probe = 256;
  constexpr double runs = 3;  // with the first one, which prepares kernels and threads
  const double mine = agreed(all_, [&] {
    return ProductTrial(device_, Product::update, Precision::fp64, probe, probe, probe)
        .rate(clock_, 0, 2);
  });
  const double rate = all_.all_reduce(mine, Reduction::min);
  const double most_bytes = room();
  const double threads = std::max(1., machine_.facts().most_threads / 2.);
  const double most = 2 * static_cast<double>(traits.trial_order) * std::sqrt(threads);
  std::int64_t order = OperationTrials::least_order;
  if (OperationTrials::bytes(order) > most_bytes)
    throw AgreedFault(fmt::format(
        "out of memory: a calibration needs {} in a quarter of the free memory, which is {}",
        gibibytes(OperationTrials::bytes(order)), gibibytes(most_bytes)));
  const auto fits = [&](std::int64_t n) {
    return static_cast<double>(n) <= most && OperationTrials::bytes(n) <= most_bytes &&
           (planned_rounds + runs) * OperationTrials::flops(n) / rate <=
               part_of_operations * seconds_;
  };
  while (fits(2 * order)) order *= 2;
  return order;
}

// Rounds over all trials. Another program that takes the cores for a while disturbs one round.
std::vector<double> MachineTimes::of(const OperationTrials& trials) const {
  const auto count = trials.all().size();
  std::vector<double> best(count, HUGE_VAL);
  std::vector<int> repeats(count, 0);
  const double begin = elapsed();
  const double share =
      part_of_operations * seconds_ / static_cast<double>(count) / (2 * planned_rounds);
  const auto measure = [&](std::size_t i) {
    const auto repeat = trials.all()[i].prepare();
    if (repeats[i] == 0) {
      repeat(1);  // not timed: the first call prepares kernels
      best[i] = fastest(clock_, 0, [&] { repeat(1); });
      repeats[i] = std::clamp(static_cast<int>(least_seconds / best[i]), 1, most_repeats);
      if (best[i] >= share) return;
    }
    best[i] = std::min(best[i], fastest(clock_, share, [&] { repeat(repeats[i]); }) / repeats[i]);
  };
  // agree() lets the ranks begin each trial together.
  for (int round = 0; round < most_rounds; ++round) {
    for (std::size_t i = 0; i < count; ++i) agree(all_, [&] { measure(i); });
    const double took = elapsed() - begin;
    if (took * (round + 2) / (round + 1) > part_of_operations * seconds_) break;
  }
  all_.all_reduce(best, Reduction::max);
  return best;
}

double MachineTimes::bandwidth() const {
  const double seconds = part_of_bandwidth * seconds_;
  const auto node_ranks = static_cast<int>(all_.split_node().size());
  // At most what takes a tenth of the seconds: a GPU copies at 1 TB a second.
  const double most = std::min(room(), seconds_ * 1e11);
  double mine = 0;
  agree(all_, [&] {
    MemoryTrial trial(device_, machine_.threads(), node_ranks, most);
    mine = trial.bytes() / fastest(clock_, seconds, [&] { trial.run(); });
  });
  return all_.all_reduce(mine, Reduction::min);
}

// In FP64 a cast is a single kernel.
template <class Use>
double MachineTimes::with_tiny_casts(const Use& use) const {
  constexpr std::int64_t n = 8;
  constexpr Precision precision = Precision::fp64;
  const auto queue = device_.make_queue(Priority::normal);
  Buffer from;
  Buffer to;
  Buffer control;
  Buffer status;
  agree(all_, [&] {
    for (Buffer* memory : {&from, &to, &control, &status}) {
      *memory = device_.allocate(bytes_of(precision) * n * n);
      device_.clear(*queue, {memory->data(), static_cast<std::size_t>(memory->bytes())});
    }
    queue->synchronize();
  });
  return use(*queue, [&] {
    device_.cast(*queue, ConstAnyMatrix(precision, from.data(), n, n, n), 1,
                 AnyMatrix(precision, to.data(), n, n, n), control.as<PanelControl>(),
                 status.as<FactorStatus>());
  });
}

double MachineTimes::start() const {
  return with_tiny_casts([&](Queue& queue, const auto& cast) {
    return slowest(
        part_of_others * seconds_,
        [&](int times) {
          for (int i = 0; i < times; ++i) cast();
          queue.synchronize();
        },
        100);
  });
}

// The host's time for the calls alone, while the GPU works.
double MachineTimes::launch() const {
  return with_tiny_casts([&](Queue& queue, const auto& cast) {
    constexpr int calls = 100;
    double mine = HUGE_VAL;
    agree(all_, [&] {
      for (int round = 0; round < 10; ++round) {
        queue.synchronize();
        mine = std::min(mine, fastest(clock_, 0, [&] {
                          for (int i = 0; i < calls; ++i) cast();
                        }));
      }
    });
    return all_.all_reduce(mine / calls, Reduction::max);
  });
}

// The time of an operation that the host waits for, beyond that of an operation among others.
double MachineTimes::synchronize() const {
  const double among = start();
  const double alone = with_tiny_casts([&](Queue& queue, const auto& cast) {
    return slowest(
        part_of_others * seconds_,
        [&](int times) {
          for (int i = 0; i < times; ++i) {
            cast();
            queue.synchronize();
          }
        },
        20);
  });
  return std::max(alone - among, 0.);
}

double MachineTimes::host_bandwidth() const {
  const auto bytes = static_cast<std::int64_t>(std::min(room(), 64e6));
  const auto queue = device_.make_queue(Priority::normal);
  Buffer host;
  Buffer device;
  agree(all_, [&] {
    host = device_.allocate_host(bytes);
    device = device_.allocate(bytes);
    std::fill_n(host.data(), bytes, std::byte{});
  });
  const double took = slowest(
      part_of_bandwidth * seconds_,
      [&](int times) {
        for (int i = 0; i < times; ++i)
          device_.write(*queue, {host.data(), static_cast<std::size_t>(bytes)}, device.data());
        queue->synchronize();
      },
      1);
  return static_cast<double>(bytes) / took;
}

double MachineTimes::tile() const {
  const auto queue = device_.make_queue(Priority::normal);
  Buffer memory;
  Buffer status;
  agree(all_, [&] {
    memory = device_.allocate(4 * tile_order * tile_order);
    status = device_.allocate(sizeof(FactorStatus));
    std::vector<float> unit(static_cast<std::size_t>(tile_order * tile_order));
    for (std::int64_t i = 0; i < tile_order; ++i)
      unit[static_cast<std::size_t>(i * (tile_order + 1))] = 1;
    device_.upload(*queue, unit, memory.as<float>());
    const FactorStatus nothing;
    device_.upload(*queue, std::span(&nothing, 1), status.as<FactorStatus>());
  });
  return slowest(
      part_of_others * seconds_,
      [&](int times) {
        for (int i = 0; i < times; ++i)
          device_.factor_diagonal(
              *queue, MatrixView<float>{memory.as<float>(), tile_order, tile_order, tile_order}, 0,
              status.as<FactorStatus>());
        queue->synchronize();
      },
      10);
}

}  // namespace speedwell
