// SPDX-License-Identifier: BSD-3-Clause
#include "bench/calibrate.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "bench/host_ceilings.hpp"
#include "bench/operation_fit.hpp"
#include "bench/operation_trials.hpp"
#include "bench/pair_times.hpp"
#include "comm/agreement.hpp"
#include "core/fastest.hpp"
#include "core/numbers.hpp"
#include "device/cpu/processor.hpp"
#include "device/device_traits.hpp"
#include "io/text.hpp"
#include "setup/memory.hpp"
#include "setup/product_trial.hpp"

namespace lupine {

namespace {

constexpr double part_of_memory = 0.25;
constexpr double part_of_operations = 0.7;  // of all seconds
constexpr double part_of_messages = 0.1;
constexpr double part_of_bandwidth = 0.05;
constexpr int planned_rounds = 4;
constexpr int most_rounds = 8;
constexpr double least_seconds = 1e-3;  // of a measurement: short operations are repeated
constexpr int most_repeats = 1000;
/// Purposes of 16 bits get entries of their own where their times differ by this much.
constexpr double differs = 0.1;
constexpr std::int64_t tile_order = 64;
constexpr std::int64_t message_bytes = std::int64_t{16} << 20;

// Where nothing was measured. They are of the order of what nodes of 2026 have.
constexpr LinkModel assumed_host_link{.bandwidth = 5e9, .latency = 1e-6};
constexpr LinkModel assumed_gpu_link{.bandwidth = 2.5e10, .latency = 1e-5};
constexpr double assumed_message = 5e-7;
constexpr double assumed_test = 1e-7;
constexpr double assumed_collective = 1e-5;

/// Measures on all ranks at the same time.
class Measurement {
 public:
  Measurement(const Machine& machine, double seconds)
      : machine_(machine),
        all_(machine.all()),
        device_(machine.device()),
        clock_(machine.clock()),
        begin_(clock_.now()),
        seconds_(seconds) {}

  std::int64_t choose_order() const;
  /// Seconds of each trial.
  std::vector<double> times(const OperationTrials& trials) const;
  /// Seconds of `work` on the slowest rank. `work` runs something so many times, and waits.
  double slowest(double seconds, const std::function<void(int)>& work, int times) const;
  double bandwidth() const;
  double start() const;
  double launch() const;
  double synchronize() const;
  double host_bandwidth() const;
  double tile() const;

  const Machine& machine() const { return machine_; }
  double seconds() const { return seconds_; }
  double quarter_of_memory() const {
    const MemoryBudget budget = machine_.memory();
    return part_of_memory * std::min(budget.rank_free, budget.shared_free / budget.sharing);
  }

 private:
  double elapsed() const { return all_.all_reduce(clock_.now() - begin_, Reduction::max); }
  /// Casts a tiny matrix: one of the shortest operations, with all threads of a CPU.
  template <class Use>
  double with_tiny_casts(const Use& use) const;

  const Machine& machine_;
  const Communicator& all_;
  Device& device_;
  const Clock& clock_;
  double begin_;
  double seconds_;
};

double Measurement::slowest(double seconds, const std::function<void(int)>& work, int times) const {
  double mine = 0;
  agree(all_, [&] {
    work(times);  // not timed: the first call prepares kernels
    mine = fastest(clock_, seconds, [&] { work(times); }) / times;
  });
  return all_.all_reduce(mine, Reduction::max);
}

// The largest shapes of a run for which there are time and memory.
std::int64_t Measurement::choose_order() const {
  const DeviceTraits& traits = traits_of(device_.kind());
  constexpr std::int64_t probe = 256;
  constexpr double runs = 3;  // with the first one, which prepares kernels and threads
  double seconds = 0;
  agree(all_, [&] {
    ProductTrial trial(device_, Product::update, Precision::fp64, probe, probe, probe);
    trial.run({});
    seconds = fastest(clock_, 0, [&] { trial.run({}); }, 2);
  });
  const double rate = 2 * std::pow(probe, 3) / all_.all_reduce(seconds, Reduction::max);
  const double room = quarter_of_memory();
  const double threads = std::max(1., machine_.facts().most_threads / 2.);
  const double most = 2 * static_cast<double>(traits.trial_order) * std::sqrt(threads);
  std::int64_t order = OperationTrials::least_order;
  if (OperationTrials::bytes(order) > room)
    throw AgreedFault(fmt::format(
        "out of memory: a calibration needs {} in a quarter of the free memory, which is {}",
        gibibytes(OperationTrials::bytes(order)), gibibytes(room)));
  const auto fits = [&](std::int64_t n) {
    return static_cast<double>(n) <= most && OperationTrials::bytes(n) <= room &&
           (planned_rounds + runs) * OperationTrials::flops(n) / rate <=
               part_of_operations * seconds_;
  };
  while (fits(2 * order)) order *= 2;
  return order;
}

// Rounds over all trials. Another program that takes the cores for a while disturbs one round.
std::vector<double> Measurement::times(const OperationTrials& trials) const {
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
    best[i] = std::min(best[i],
                       fastest(clock_, share, [&] { repeat(repeats[i]); }) / repeats[i]);
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

double Measurement::bandwidth() const {
  const double seconds = part_of_bandwidth * seconds_;
  double mine = 0;
  if (device_.shares_host_memory()) {
    const auto node_ranks = static_cast<int>(all_.split_node().size());
    const std::int64_t room = static_cast<std::int64_t>(quarter_of_memory());
    agree(all_, [&] {
      const std::int64_t bytes = std::clamp<std::int64_t>(
          memory_pass_bytes(node_ranks), 1, std::max<std::int64_t>(room, 1 << 20));
      mine = memory_rate(MemoryPass::triad, bytes, machine_.threads(), seconds, clock_);
    });
    return all_.all_reduce(mine, Reduction::min);
  }
  const auto n = static_cast<std::int64_t>(std::sqrt(std::min(quarter_of_memory(), 8e9) / 16));
  const auto queue = device_.make_queue(Priority::normal);
  Buffer from;
  Buffer to;
  agree(all_, [&] {
    from = device_.allocate(8 * n * n);
    to = device_.allocate(8 * n * n);
    device_.clear(*queue, {from.data(), static_cast<std::size_t>(from.bytes())});
  });
  const double took = slowest(
      seconds,
      [&](int times) {
        for (int i = 0; i < times; ++i)
          device_.copy(*queue, MatrixView<const double>{from.as<double>(), n, n, n},
                       MatrixView<double>{to.as<double>(), n, n, n});
        queue->synchronize();
      },
      1);
  return 16 * static_cast<double>(n * n) / took;
}

template <class Use>
double Measurement::with_tiny_casts(const Use& use) const {
  constexpr std::int64_t n = 8;
  const auto queue = device_.make_queue(Priority::normal);
  const Buffer from = device_.allocate(4 * n * n);
  const Buffer to = device_.allocate(4 * n * n);
  const Buffer control = device_.allocate(sizeof(PanelControl));
  const Buffer status = device_.allocate(sizeof(FactorStatus));
  for (const Buffer* memory : {&from, &status})
    device_.clear(*queue, {memory->data(), static_cast<std::size_t>(memory->bytes())});
  queue->synchronize();
  const auto cast = [&] {
    device_.cast(*queue, MatrixView<const float>{from.as<float>(), n, n, n}, 1,
                 MatrixView<float>{to.as<float>(), n, n, n}, control.as<PanelControl>(),
                 status.as<FactorStatus>());
  };
  return use(*queue, cast);
}

double Measurement::start() const {
  return with_tiny_casts([&](Queue& queue, const auto& cast) {
    return slowest(
        0.01 * seconds_,
        [&](int times) {
          for (int i = 0; i < times; ++i) cast();
          queue.synchronize();
        },
        100);
  });
}

// The host's time for the calls alone, while the GPU works.
double Measurement::launch() const {
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
double Measurement::synchronize() const {
  const double among = start();
  const double alone = with_tiny_casts([&](Queue& queue, const auto& cast) {
    return slowest(
        0.01 * seconds_,
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

double Measurement::host_bandwidth() const {
  const auto bytes = static_cast<std::int64_t>(std::min(quarter_of_memory(), 64e6));
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

double Measurement::tile() const {
  const auto queue = device_.make_queue(Priority::normal);
  const Buffer memory = device_.allocate(4 * tile_order * tile_order);
  const Buffer status = device_.allocate(sizeof(FactorStatus));
  std::vector<float> unit(static_cast<std::size_t>(tile_order * tile_order));
  for (std::int64_t i = 0; i < tile_order; ++i)
    unit[static_cast<std::size_t>(i * (tile_order + 1))] = 1;
  device_.upload(*queue, unit, memory.as<float>());
  const FactorStatus nothing;
  device_.upload(*queue, std::span(&nothing, 1), status.as<FactorStatus>());
  return slowest(
      0.01 * seconds_,
      [&](int times) {
        for (int i = 0; i < times; ++i)
          device_.factor_diagonal(
              *queue, MatrixView<float>{memory.as<float>(), tile_order, tile_order, tile_order}, 0,
              status.as<FactorStatus>());
        queue->synchronize();
      },
      10);
}

/// The parts of a description such as "NVIDIA H200, 132 multiprocessors, 139.8 GiB, ...".
std::string gpu_name(const std::string& description) {
  return description.substr(0, description.find(','));
}
int multiprocessors_of(const std::string& description) {
  const std::size_t comma = description.find(", ");
  if (comma == std::string::npos) return 1;
  std::string_view rest = std::string_view(description).substr(comma + 2);
  return std::max(1, number<int>(take_word(rest)).value_or(1));
}

/// "amd-epyc-9555" for "AMD EPYC 9555".
std::string slug(const std::string& text) {
  std::string result;
  for (const char c : lower(text))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
      result += c;
    else if (!result.empty() && result.back() != '-')
      result += '-';
  while (!result.empty() && result.back() == '-') result.pop_back();
  return result.empty() ? "machine" : result;
}

/// Puts measured numbers into a machine, with their figures.
class Calibrator {
 public:
  Calibrator(const Measurement& measurement, const std::optional<MachineModel>& earlier)
      : measured_(measurement),
        machine_(measurement.machine()),
        all_(machine_.all()),
        gpu_(!machine_.device().shares_host_memory()) {
    const std::string mine =
        gpu_ ? gpu_name(machine_.facts().device)
             : agreed(all_, [] { return processor_info().model; });
    processor_ = text_of_rank_0(all_, mine);
    if (earlier) check(*earlier);
    model_ = earlier.value_or(MachineModel{});
    again_ = earlier.has_value();
  }

  Calibration run();

 private:
  void check(const MachineModel& earlier) const;
  void set_machine();
  void set_messages();
  void set_device();
  void set_operations();
  DeviceModel& device() { return model_.devices_of_rank[index_]; }
  std::string of_device(const std::string& key) const {
    return fmt::format("ranks[{}].{}", index_, key);
  }
  template <class T, class U>
  void set(const std::string& path, T& number, U value, Origin origin, const std::string& source) {
    number = static_cast<T>(value);
    model_.figures[path] = {static_cast<double>(value), origin, source};
  }
  template <class T, class U>
  void measured(const std::string& path, T& number, U value) {
    set(path, number, value, Origin::measured, source_);
  }
  /// Keeps the number of the earlier file, if there is one.
  template <class T, class U>
  void assumed(const std::string& path, T& number, U value, const std::string& why) {
    if (!model_.figures.contains(path)) set(path, number, value, Origin::assumed, why);
  }
  void assume_link(const std::string& path, LinkModel& link, const std::string& why);
  void measure_link(const std::string& path, LinkModel& link, int other);
  int partner(bool same_host) const;

  const Measurement& measured_;
  const Machine& machine_;
  const Communicator& all_;
  bool gpu_;
  bool again_ = false;
  std::string processor_;
  std::string source_;
  MachineModel model_;
  std::size_t index_ = 0;  // of the measured device
  Calibration result_;
};

void Calibrator::check(const MachineModel& earlier) const {
  const auto kind = [](DeviceKind k) { return k == DeviceKind::cpu ? "CPUs" : "GPUs"; };
  const DeviceKind mine = gpu_ ? DeviceKind::cuda : DeviceKind::cpu;
  if (earlier.kind != mine)
    throw UsageError(fmt::format(
        "the machine file is of a machine with {}, and this run measures {}; allowed: the file of "
        "this machine, or a new one",
        kind(earlier.kind), kind(mine)));
  for (const DeviceModel& device : earlier.devices_of_rank)
    if (device.name != processor_)
      throw UsageError(fmt::format(
          "the machine file is of '{}', and this machine has '{}'; allowed: the file of this "
          "machine, or a new one",
          printable(device.name), processor_));
}

Calibration Calibrator::run() {
  result_.order = measured_.choose_order();
  const std::string date =
      text_of_rank_0(all_, utc_text(std::time(nullptr)).substr(0, std::string("2026-11-22").size()));
  const int threads = machine_.facts().run.threads;
  source_ = fmt::format("lupine predict --calibrate, {}, {} rank{} of {} thread{}", date,
                        all_.size(), all_.size() == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
  set_machine();
  set_device();
  set_operations();
  set_messages();
  result_.machine = std::move(model_);
  return std::move(result_);
}

void Calibrator::set_machine() {
  const auto& hosts = machine_.facts().hosts;
  const std::set<std::string> nodes(hosts.begin(), hosts.end());
  const Communicator node = all_.split_node();
  const auto agreed_count = [&](int mine) {
    return all_.all_reduce(std::int64_t{mine}, Reduction::max);
  };
  const ProcessorInfo processor = agreed(all_, [] { return processor_info(); });
  const auto memory = agreed(all_, [] { return node_memory(); });
  const std::int64_t cores =
      agreed_count(std::max(processor.cores, machine_.facts().most_threads));
  model_.kind = gpu_ ? DeviceKind::cuda : DeviceKind::cpu;
  model_.validation.clear();  // of numbers that are measured anew
  if (!again_) {
    model_.name = slug(processor_);
    model_.description =
        fmt::format("{}, {} core{} a node, as measured", processor_, cores, cores == 1 ? "" : "s");
    const std::int64_t ranks = agreed_count(node.size());
    measured("nodes", model_.nodes, std::ssize(nodes));
    measured("devices", model_.devices, gpu_ ? ranks : std::max(ranks, cores));
    model_.topology = nodes.size() > 1 ? Topology::star : Topology::single;
  }
  measured("cores", model_.cores, std::max<std::int64_t>(cores, again_ ? model_.cores : 0));
  measured("node_memory", model_.node_memory,
           -all_.all_reduce(-static_cast<double>(memory.total), Reduction::max));
}

void Calibrator::set_device() {
  const int threads = gpu_ ? 0 : machine_.facts().run.threads;
  auto& devices = model_.devices_of_rank;
  const auto known = std::find_if(devices.begin(), devices.end(),
                                  [&](const DeviceModel& d) { return d.threads == threads; });
  index_ = static_cast<std::size_t>(known - devices.begin());
  if (known == devices.end()) devices.emplace_back();
  DeviceModel& d = device();
  d.name = processor_;
  d.operations.clear();
  measured(of_device("bandwidth"), d.bandwidth, measured_.bandwidth());
  measured(of_device("start"), d.start, measured_.start());
  if (!gpu_) {
    measured(of_device("threads"), d.threads, threads);
    return;
  }
  const double memory = static_cast<double>(machine_.device().memory()->total);
  measured(of_device("memory"), d.memory, -all_.all_reduce(-memory, Reduction::max));
  measured(of_device("multiprocessors"), d.multiprocessors,
           multiprocessors_of(machine_.facts().device));
  measured(of_device("launch"), d.launch, measured_.launch());
  measured(of_device("synchronize"), d.synchronize, measured_.synchronize());
  measured(of_device("host_bandwidth"), d.host_bandwidth, measured_.host_bandwidth());
  measured(of_device("tile"), d.tile, measured_.tile());
  assumed(of_device("bandwidth_part"), d.bandwidth_part, 1, "not measured");
  assumed(of_device("holds"), d.holds, true, "not measured");
}

void Calibrator::set_operations() {
  std::optional<OperationTrials> trials;
  agree(all_, [&] {
    trials.emplace(machine_.device(), result_.order, all_.size() > 1);
  });
  const std::vector<double> seconds = measured_.times(*trials);
  std::map<std::pair<OperationKind, Precision>, std::vector<TimedShape>> shapes;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const OperationTrial& t = trials->all()[i];
    shapes[{t.kind, t.precision}].push_back({t.work, t.rows, t.columns, t.width, seconds[i]});
  }
  double errors = 0;
  std::size_t count = 0;
  for (const auto& [key, timed] : shapes) {
    const auto& [kind, precision] = key;
    const bool solve = kind == OperationKind::solve_right || kind == OperationKind::solve_left;
    if (solve && bytes_of(precision) == 2) {
      const auto& plain = shapes.at({kind, Precision::fp32});
      double ratio = 0;
      for (std::size_t i = 0; i < timed.size(); ++i)
        ratio += timed[i].seconds / plain[i].seconds / static_cast<double>(timed.size());
      if (std::abs(ratio - 1) <= differs) continue;
    }
    const OperationFit fit = fit_operation(timed);
    OperationModel& model = device().operations[key];
    model = fit.model;
    model.origin = Origin::measured;
    model.source = fmt::format("{}; {} shapes up to {} rows, mean error {:.0f} %, largest {:.0f} %",
                               source_, timed.size(), result_.order, 100 * fit.mean_error,
                               100 * fit.largest_error);
    result_.operations.push_back({kind, precision, static_cast<int>(timed.size()),
                                  fit.largest_error, fit.mean_error});
    result_.largest_error = std::max(result_.largest_error, fit.largest_error);
    errors += fit.mean_error * static_cast<double>(timed.size());
    count += timed.size();
  }
  result_.mean_error = errors / static_cast<double>(count);
}

int Calibrator::partner(bool same_host) const {
  const auto& hosts = machine_.facts().hosts;
  for (std::size_t r = 1; r < hosts.size(); ++r)
    if ((hosts[r] == hosts[0]) == same_host) return static_cast<int>(r);
  return -1;
}

void Calibrator::assume_link(const std::string& path, LinkModel& link, const std::string& why) {
  const LinkModel& other = gpu_ ? assumed_gpu_link : assumed_host_link;
  assumed(path + ".bandwidth", link.bandwidth, other.bandwidth, why);
  assumed(path + ".latency", link.latency, other.latency, why);
}

void Calibrator::measure_link(const std::string& path, LinkModel& link, int other) {
  const auto bytes = static_cast<std::int64_t>(
      std::clamp(measured_.quarter_of_memory() / 2, 1., static_cast<double>(message_bytes)));
  const PairTimes times = pair_times(all_, other, bytes, part_of_messages * measured_.seconds(),
                                     machine_.clock());
  measured("message", model_.message, times.message);
  measured("test", model_.test, times.test);
  if (gpu_) return assume_link(path, link, "messages between GPUs are not measured");
  measured(path + ".bandwidth", link.bandwidth, times.bandwidth);
  measured(path + ".latency", link.latency, times.latency);
}

void Calibrator::set_messages() {
  const int near = partner(true);
  const int far = partner(false);
  if (near > 0) measure_link("link", model_.link, near);
  if (far > 0) measure_link("port", model_.port, far);
  if (near < 0 && model_.devices > 1)
    assume_link("link", model_.link, "not measured: needs two ranks of a node");
  if (far < 0 && model_.nodes > 1)
    assume_link("port", model_.port, "not measured: needs ranks of two nodes");
  const std::string alone = "not measured: needs two ranks";
  assumed("message", model_.message, assumed_message, alone);
  assumed("test", model_.test, assumed_test, alone);
  if (gpu_) assumed("collective", model_.collective, assumed_collective, "not measured");
}

}  // namespace

Calibration calibrate(const Machine& machine, const std::optional<MachineModel>& earlier,
                      double seconds) {
  if (!(seconds > 0 && std::isfinite(seconds)))
    throw UsageError(
        fmt::format("a calibration cannot take {:g} seconds; allowed: seconds above 0", seconds));
  const Measurement measurement(machine, seconds);
  return Calibrator(measurement, earlier).run();
}

}  // namespace lupine
