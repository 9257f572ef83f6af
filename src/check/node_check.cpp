// SPDX-License-Identifier: BSD-3-Clause
#include "check/node_check.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "bench/memory_trial.hpp"
#include "check/driver_errors.hpp"
#include "comm/agreement.hpp"
#include "core/option_text.hpp"
#include "device/device_traits.hpp"
#include "host/blas_library.hpp"
#include "host/processor.hpp"
#include "revision.hpp"
#include "sensors/nvml.hpp"
#include "setup/memory.hpp"
#include "setup/placement.hpp"
#include "setup/product_trial.hpp"
#include "setup/rates.hpp"
#include "transport/transport.hpp"

namespace speedwell {

namespace {

constexpr double giga = 1e9;
constexpr double micro = 1e-6;
/// Parts of the check's time. Preparations take the rest.
constexpr double part_of_update = 0.3;
constexpr double part_of_fp64 = 0.2;
constexpr double part_of_memory = 0.15;
constexpr double part_of_messages = 0.25;

/// Products of the time that one shall take at least grow up to this order.
constexpr double least_product_seconds = 0.02;
constexpr std::int64_t least_order = 512;
constexpr std::int64_t largest_order = 16384;

constexpr std::int64_t small_message = 8;
constexpr std::int64_t large_message = std::int64_t{8} << 20;
constexpr int least_trips = 5;
constexpr int most_trips = 2000;

/// A figure of one place.
struct Measured {
  double value = NAN;
  double deviation = NAN;
};

/// The amount a second of all rounds of `work` in these seconds together. A round is of `amount`.
template <class Work>
Measured rate_of(const Clock& clock, double seconds, double amount, const Work& work) {
  std::vector<double> rates;
  const double begin = clock.now();
  double end = begin;
  do {
    const double from = clock.now();
    work();
    end = clock.now();
    rates.push_back(amount / std::max(end - from, 1e-9));
  } while (end - begin < seconds);
  return {amount * static_cast<double>(rates.size()) / (end - begin),
          spread_of(rates).value().deviation};
}

/// The check of one machine, whose ranks are the places.
class MachineCheck {
 public:
  MachineCheck(Machine& machine, double seconds)
      : machine_(machine), all_(machine.all()), device_(machine.device()), seconds_(seconds) {}

  NodeCheck run() {
    const double begin = clock().now();
    add_facts();
    add_errors();
    add_product(Product::update, update_precision(), part_of_update * seconds_);
    add_product(Product::gemm, Precision::fp64, part_of_fp64 * seconds_);
    add_memory();
    add_neighbours(Along::row, machine_.grid().row());
    add_neighbours(Along::column, machine_.grid().column());
    found_.machine = machine_.facts();
    found_.seconds = all_.all_reduce(clock().now() - begin, Reduction::max);
    return std::move(found_);
  }

 private:
  const Clock& clock() const { return machine_.run().clock(); }

  void add(std::string name, std::string unit, Better better, double scale, const Measured& mine) {
    const std::array pair{mine.value / scale, mine.deviation / scale};
    const std::vector<double> both = all_.all_gather(pair);
    CheckedFigure figure{std::move(name), std::move(unit), better};
    for (std::size_t r = 0; r < both.size(); r += 2) {
      figure.values.push_back(both[r]);
      figure.deviations.push_back(both[r + 1]);
    }
    found_.figures.push_back(std::move(figure));
  }
  void add(std::string name, const std::string& mine) {
    found_.facts.push_back({std::move(name), all_.all_gather(mine)});
  }

  /// What every rank should have alike.
  void add_facts() {
    const MachineFacts& facts = machine_.facts();
    for (int rank = 0; rank < all_.size(); ++rank)
      found_.places.push_back(
          {rank, facts.hosts[static_cast<std::size_t>(rank)],
           facts.gpus.empty() ? "cpu" : facts.gpus[static_cast<std::size_t>(rank)]});
    utsname system{};
    ::uname(&system);
    add("Speedwell", SPEEDWELL_VERSION " (" SPEEDWELL_REVISION ")");
    add("system", fmt::format("{} {}", system.sysname, system.release));
    add("MPI", mpi_version());
    add("BLAS", blas_description());
    add("oneDNN", onednn_description());
    add("processor", processor_model());
    add("threads", std::to_string(machine_.threads()));
    add("cores", fmt::format("{} of {}", processor_info().bound_cores, processor_info().cores));
    if (facts.gpus.empty()) return;
    add("GPU", device_.description());
    add("driver", nvml().driver_version().value().value_or(""));
    add("NCCL", agreed(all_, [&] { return device_.peer_support().library; }));
  }

  /// This rank's GPU, by NVML.
  Sensed<GpuSensor> sensor() const {
    const auto memory = device_.memory();
    if (!memory) return Sensed<GpuSensor>::none("no GPU");
    return nvml().gpu(memory->identity);
  }

  /// What drivers have counted. Of a node's memory, the node's first rank tells.
  void add_errors() {
    const Sensed<GpuSensor> gpu = sensor();
    const bool first = all_.split_node().rank() == 0;
    const DriverErrors own = gpu ? gpu_errors(gpu->state()) : DriverErrors();
    const DriverErrors host = first ? memory_errors(SystemFiles()) : DriverErrors();
    const auto gather = [&](std::vector<std::string> mine, const std::vector<std::string>& more,
                            std::vector<Finding>& all) {
      mine.insert(mine.end(), more.begin(), more.end());
      const std::vector<std::string> lines =
          all_.all_gather(fmt::format("{}", fmt::join(mine, ", ")));
      for (std::size_t place = 0; place < lines.size(); ++place)
        if (!lines[place].empty()) all.push_back({place, lines[place]});
    };
    gather(own.serious, host.serious, found_.errors);
    gather(own.corrected, host.corrected, found_.notices);
  }

  /// The clock at which a GPU has worked, and its link to the host, which saves power when idle.
  void add_clock(const Sensed<GpuReading>& busy) {
    if (machine_.facts().gpus.empty()) return;
    const GpuReading none;
    const GpuReading& reading = busy ? *busy : none;
    const Sensed<>& generation = reading.pcie_generation;
    const Sensed<>& width = reading.pcie_width;
    add("SM clock", "MHz", Better::higher, 1, {reading.sm_mhz.value().value_or(NAN), 0});
    add("PCIe",
        generation && width ? fmt::format("generation {}, {} lanes", *generation, *width) : "");
  }

  /// The one in which a run would update.
  Precision update_precision() const {
    constexpr std::array precisions{Precision::bf16, Precision::fp16, Precision::fp32};
    return update_rates(machine_, precisions, largest_order).fastest();
  }

  void add_product(Product product, Precision precision, double seconds) {
    const DeviceTraits& traits = traits_of(machine_.facts().run.device);
    const double room = machine_.memory().rank_free / 4;
    std::unique_ptr<ProductTrial> trial;
    for (std::int64_t order = least_order;; order *= 2) {
      double once = 0;
      agree(all_, [&] {
        trial.reset();
        trial = std::make_unique<ProductTrial>(device_, product, precision, order, order,
                                               std::min(traits.trial_width, order));
        once = trial->flops() / trial->rate(clock(), 0);
      });
      once = all_.all_reduce(once, Reduction::min);
      const double larger = 4 * static_cast<double>(order * order) * bytes_of(Precision::fp64);
      if (once >= least_product_seconds || order == largest_order || 2 * larger > room) break;
    }
    Measured mine;
    Sensed<GpuReading> busy;
    const Sensed<GpuSensor> gpu = sensor();
    agree(all_, [&] {
      mine = rate_of(clock(), seconds, trial->flops(), [&] { trial->run(); });
      if (gpu) busy = gpu->read();
    });
    const std::string what = product == Product::update ? "update" : "product";
    add(fmt::format("{} {}", what, name(precision)), "GFLOP/s", Better::higher, giga, mine);
    if (product == Product::update) add_clock(busy);
  }

  void add_memory() {
    Measured bandwidth;
    const auto node_ranks = static_cast<int>(all_.split_node().size());
    const double room = machine_.memory().rank_free / 4;
    agree(all_, [&] {
      MemoryTrial trial(device_, machine_.threads(), node_ranks, room);
      trial.run();  // not timed: the first pass touches new pages
      bandwidth = rate_of(clock(), part_of_memory * seconds_, trial.bytes(), [&] { trial.run(); });
    });
    add("memory bandwidth", "GB/s", Better::higher, giga, bandwidth);
    all_.barrier();  // what other ranks have allocated is free again
    Measured host{0, 0};
    Measured device{NAN, 0};
    agree(all_, [&] {
      host.value = static_cast<double>(node_memory().free);
      if (const auto memory = device_.memory()) device.value = static_cast<double>(memory->free);
    });
    add("free host memory", "GiB", Better::higher, 0x1p30, host);
    if (!machine_.facts().gpus.empty())
      add("free GPU memory", "GiB", Better::higher, 0x1p30, device);
  }

  /// A connection to a neighbour, by messages of the run's transport on a grid of two.
  struct Link {
    Measured latency;    // seconds of a small message
    Measured bandwidth;  // bytes a second of a large message
  };
  Link measure_link(const Communicator& pair, std::span<std::byte> memory, double seconds) {
    const ProcessGrid grid(pair, {1, 2, GridOrder::row});
    Transport transport(grid, device_, machine_.facts().run.comm);
    const auto queue = device_.make_queue(Priority::normal);
    const auto times_of = [&](std::span<std::byte> bytes) {
      std::vector<double> times;
      const auto trip = [&] {
        for (const int root : {0, 1}) transport.broadcast(*queue, Along::row, root, bytes);
        queue->synchronize();
      };
      const auto timed = [&] {
        const double begin = clock().now();
        trip();
        times.push_back(std::max((clock().now() - begin) / 2, 1e-9));
      };
      trip();  // not timed: the first messages connect the ranks
      timed();
      const double once = pair.all_reduce(times.front(), Reduction::max);
      const double fit = seconds / 2 / (2 * once);
      for (int i = std::clamp(static_cast<int>(std::min(fit, 1e6)), least_trips, most_trips); i > 0;
           --i)
        timed();
      return spread_of(times).value();
    };
    const Spread small = times_of(memory.first(small_message));
    const Spread large = times_of(memory);
    const double rate = static_cast<double>(memory.size()) / large.median;
    return {{small.median, small.deviation}, {rate, rate * large.deviation / large.median}};
  }

  /// The better one of a rank's two connections along a process row or column.
  void add_neighbours(Along along, const Communicator& ring) {
    const GridShape shape = machine_.facts().shape();
    if ((along == Along::row ? shape.npcol : shape.nprow) == 1) return;
    const int rounds = pairing_rounds(ring.size());
    const double seconds = part_of_messages * seconds_ / (2 * rounds);
    Buffer memory;
    agree(all_, [&] {
      memory = device_.allocate(large_message);
      const auto queue = device_.make_queue(Priority::normal);
      device_.clear(*queue, {memory.data(), static_cast<std::size_t>(memory.bytes())});
      queue->synchronize();
    });
    Link best;
    for (int round = 0; round < rounds; ++round) {
      const std::optional<int> other = partner(ring.rank(), ring.size(), round);
      const Communicator pair =
          ring.split(std::min(ring.rank(), other.value_or(ring.rank())), ring.rank());
      if (other) {
        const Link link =
            measure_link(pair, {memory.data(), static_cast<std::size_t>(memory.bytes())}, seconds);
        if (!(best.latency.value <= link.latency.value)) best.latency = link.latency;
        if (!(best.bandwidth.value >= link.bandwidth.value)) best.bandwidth = link.bandwidth;
      }
      all_.barrier_asleep();
    }
    const char* where = along == Along::row ? "in the process row" : "in the process column";
    add(fmt::format("latency {}", where), "us", Better::lower, micro, best.latency);
    add(fmt::format("bandwidth {}", where), "GB/s", Better::higher, giga, best.bandwidth);
  }

  Machine& machine_;
  const Communicator& all_;
  Device& device_;
  double seconds_;
  NodeCheck found_;
};

/// The GPUs that a process alone checks one after the other; of several ranks, each has its own.
std::vector<int> own_gpus(CommHandle comm, const RunOptions& options) {
  if (ranks_in(comm) > 1 || options.device == DeviceKind::cpu || !options.gpus.empty())
    return options.gpus;
  std::vector<int> all(static_cast<std::size_t>(count_gpus()));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  return all;
}

/// Adds the places of another device of the same process.
void append(NodeCheck& all, const NodeCheck& more) {
  for (const auto& [from, to] :
       {std::pair(&more.errors, &all.errors), std::pair(&more.notices, &all.notices)})
    for (const Finding& one : *from) to->push_back({all.places.size() + one.place, one.words});
  all.places.insert(all.places.end(), more.places.begin(), more.places.end());
  const auto join = [](auto& to, const auto& from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  for (std::size_t i = 0; i < all.facts.size(); ++i)
    join(all.facts[i].values, more.facts[i].values);
  for (std::size_t i = 0; i < all.figures.size(); ++i) {
    join(all.figures[i].values, more.figures[i].values);
    join(all.figures[i].deviations, more.figures[i].deviations);
  }
  all.seconds += more.seconds;
}

}  // namespace

NodeCheck check_nodes(CommHandle comm, const RunOptions& options, double seconds,
                      const std::function<void(const MachineFacts&)>& admit) {
  const auto check = [&](const RunOptions& one, double time) {
    Machine machine(comm, one);
    admit(machine.facts());
    return MachineCheck(machine, time).run();
  };
  const std::vector<int> gpus = own_gpus(comm, options);
  if (ranks_in(comm) > 1 || gpus.size() < 2) return check(options, seconds);
  NodeCheck all;
  for (const int gpu : gpus) {
    RunOptions one = options;
    one.gpus = {gpu};
    NodeCheck more = check(one, seconds / static_cast<double>(gpus.size()));
    if (all.places.empty())
      all = std::move(more);
    else
      append(all, more);
  }
  return all;
}

std::vector<Finding> findings_of(const NodeCheck& check, const OutlierLimits& limits) {
  std::vector<Finding> all;
  for (const CheckedFigure& figure : check.figures) {
    const std::optional<Spread> usual = spread_of(figure.values);
    for (std::size_t i = 0; usual && i < figure.values.size(); ++i)
      if (is_outlier(figure.values[i], *usual, figure.better, limits))
        all.push_back({i, worse_text(figure, figure.values[i], usual->median, "the median")});
  }
  all.insert(all.end(), check.errors.begin(), check.errors.end());
  for (const CheckedFact& fact : check.facts) {
    std::map<std::string, std::size_t> counts;
    for (const std::string& value : fact.values)
      if (!value.empty()) ++counts[value];
    const auto most =
        std::ranges::max_element(counts, {}, [](const auto& one) { return one.second; });
    for (std::size_t i = 0; i < fact.values.size(); ++i)
      if (!fact.values[i].empty() && fact.values[i] != most->first)
        all.push_back(
            {i, fmt::format("{} is {}, and {} at {} of {} places", fact.name, fact.values[i],
                            most->first, most->second, fact.values.size())});
  }
  return all;
}

std::string worse_text(const CheckedFigure& figure, double value, double usual,
                       const std::string& of_what) {
  return fmt::format("{} {:.1f} % {} {} ({:.4g} against {:.4g} {})", figure.name,
                     100 * shortfall(value, usual, figure.better),
                     figure.better == Better::higher ? "below" : "above", of_what, value, usual,
                     figure.unit);
}

std::string text_of(const CheckedPlace& place) {
  return fmt::format("rank {} on {}{}", place.rank, place.host,
                     place.device == "cpu" ? "" : ", " + place.device);
}

}  // namespace speedwell
