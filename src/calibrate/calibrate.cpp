// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/calibrate.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "calibrate/machine_times.hpp"
#include "calibrate/operation_fit.hpp"
#include "calibrate/operation_trials.hpp"
#include "calibrate/pair_times.hpp"
#include "comm/agreement.hpp"
#include "core/counted.hpp"
#include "host/processor.hpp"
#include "io/text.hpp"
#include "setup/memory.hpp"

namespace speedwell {

namespace {

// Where nothing was measured. They are of the order of what nodes of 2026 have.
constexpr LinkModel assumed_link{.bandwidth = 2.5e10, .latency = 1e-5};
constexpr double assumed_message = 5e-7;
constexpr double assumed_test = 1e-7;
constexpr double assumed_collective = 1e-5;

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

/// "nvidia-h200" for "NVIDIA H200".
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
  Calibrator(const MachineTimes& times, const std::optional<MachineModel>& earlier)
      : times_(times),
        machine_(times.machine()),
        all_(machine_.all()),
        gpu_(text_of_rank_0(all_, gpu_name(machine_.facts().device))) {
    count_gpus();
    if (earlier) check(*earlier);
    model_ = earlier.value_or(MachineModel{});
    again_ = earlier.has_value();
  }

  Calibration run();

 private:
  void check(const MachineModel& earlier) const;
  void count_gpus();
  void set_machine();
  void set_messages();
  void set_device();
  void set_operations();
  static std::string of_device(const std::string& key) { return "ranks[0]." + key; }
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
  void assume_link(const std::string& path, LinkModel& link);
  int partner() const;

  const MachineTimes& times_;
  const Machine& machine_;
  const Communicator& all_;
  std::string gpu_;
  bool again_ = false;
  std::int64_t node_gpus_ = 0;  // of rank 0's node
  std::string source_;
  MachineModel model_;
  Calibration result_;
};

void Calibrator::check(const MachineModel& earlier) const {
  if (earlier.device.name != gpu_)
    throw UsageError(fmt::format(
        "the machine file is of '{}', and this machine has '{}'; allowed: the file of this "
        "machine, or a new one",
        printable(earlier.device.name), gpu_));
}

// The ranks of a GPU would measure their shares of it, which no machine file describes.
void Calibrator::count_gpus() {
  const MachineFacts& facts = machine_.facts();
  std::set<std::string> gpus;
  for (std::size_t r = 0; r < facts.gpus.size(); ++r) {
    if (facts.hosts[r] == facts.hosts[0]) ++node_gpus_;
    if (!gpus.insert(facts.gpus[r] + " on " + facts.hosts[r]).second)
      throw UsageError(fmt::format("several ranks share {} on {}; allowed: a GPU for each rank",
                                   facts.gpus[r], facts.hosts[r]));
  }
}

Calibration Calibrator::run() {
  result_.order = times_.choose_order();
  const std::string date = text_of_rank_0(
      all_, utc_text(std::time(nullptr)).substr(0, std::string("2026-11-22").size()));
  source_ =
      fmt::format("speedwell predict --calibrate, {}, {}", date, counted(all_.size(), "rank"));
  set_machine();
  set_device();
  set_operations();
  set_messages();
  // As a reader of the file has it: checked, and with a figure for every number.
  result_.machine = parse_machine(machine_text(model_), "calibration");
  return std::move(result_);
}

void Calibrator::set_machine() {
  const auto& hosts = machine_.facts().hosts;
  const std::set<std::string> nodes(hosts.begin(), hosts.end());
  const ProcessorInfo processor = agreed(all_, [] { return processor_info(); });
  const auto memory = agreed(all_, [] { return node_memory(); });
  const std::int64_t cores = all_.all_reduce(
      std::int64_t{std::max(processor.cores, machine_.facts().most_threads)}, Reduction::max);
  model_.validation.clear();  // of numbers that are measured anew
  if (!again_) {
    model_.name = slug(gpu_);
    model_.description = fmt::format("{}, {} a node, as measured", gpu_, counted(cores, "core"));
    measured("nodes", model_.nodes, std::ssize(nodes));
    measured("devices", model_.devices, node_gpus_);
    model_.topology = nodes.size() > 1 ? Topology::star : Topology::single;
  }
  measured("cores", model_.cores, std::max<std::int64_t>(cores, again_ ? model_.cores : 0));
  measured("node_memory", model_.node_memory,
           -all_.all_reduce(-static_cast<double>(memory.total), Reduction::max));
}

void Calibrator::set_device() {
  DeviceModel& d = model_.device;
  d.name = gpu_;
  d.operations.clear();
  measured(of_device("bandwidth"), d.bandwidth, times_.bandwidth());
  measured(of_device("start"), d.start, times_.start());
  const double memory = static_cast<double>(machine_.device().memory()->total);
  measured(of_device("memory"), d.memory, -all_.all_reduce(-memory, Reduction::max));
  measured(of_device("multiprocessors"), d.multiprocessors,
           multiprocessors_of(machine_.facts().device));
  measured(of_device("launch"), d.launch, times_.launch());
  measured(of_device("synchronize"), d.synchronize, times_.synchronize());
  measured(of_device("host_bandwidth"), d.host_bandwidth, times_.host_bandwidth());
  measured(of_device("tile"), d.tile, times_.tile());
  assumed(of_device("bandwidth_part"), d.bandwidth_part, 1, "not measured");
  assumed(of_device("holds"), d.holds, true, "not measured");
}

void Calibrator::set_operations() {
  std::optional<OperationTrials> trials;
  agree(all_, [&] { trials.emplace(machine_.device(), result_.order); });
  const std::vector<double> seconds = times_.of(*trials);
  std::map<OperationKey, std::vector<TimedShape>> shapes;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    const OperationTrial& t = trials->all()[i];
    shapes[{t.kind, t.precision}].push_back({t.work, t.rows, t.columns, t.width, seconds[i]});
  }
  double errors = 0;
  std::size_t count = 0;
  for (const auto& [key, timed] : shapes) {
    const auto& [kind, precision] = key;
    const OperationFit fit = fit_operation(timed);
    OperationModel& model = model_.device.operations[key];
    model = fit.model;
    model.origin = Origin::measured;
    model.source =
        fmt::format("{}; {} shapes up to {} rows, mean error {:.0f} %, largest {:.0f} %", source_,
                    timed.size(), result_.order, 100 * fit.mean_error, 100 * fit.largest_error);
    result_.operations.push_back(
        {kind, precision, static_cast<int>(timed.size()), fit.largest_error, fit.mean_error});
    result_.largest_error = std::max(result_.largest_error, fit.largest_error);
    errors += fit.mean_error * static_cast<double>(timed.size());
    count += timed.size();
  }
  result_.mean_error = errors / static_cast<double>(count);
}

/// A rank of another node than rank 0's, else one of the same; -1 if rank 0 is alone.
int Calibrator::partner() const {
  const auto& hosts = machine_.facts().hosts;
  for (std::size_t r = 1; r < hosts.size(); ++r)
    if (hosts[r] != hosts[0]) return static_cast<int>(r);
  return hosts.size() > 1 ? 1 : -1;
}

void Calibrator::assume_link(const std::string& path, LinkModel& link) {
  const std::string why = "messages between GPUs are not measured";
  assumed(path + ".bandwidth", link.bandwidth, assumed_link.bandwidth, why);
  assumed(path + ".latency", link.latency, assumed_link.latency, why);
}

void Calibrator::set_messages() {
  if (const int other = partner(); other > 0) {
    const PairTimes times = pair_times(all_, other, machine_.run().clock());
    measured("message", model_.message, times.message);
    measured("test", model_.test, times.test);
  } else {
    const std::string alone = "not measured: needs two ranks";
    assumed("message", model_.message, assumed_message, alone);
    assumed("test", model_.test, assumed_test, alone);
  }
  if (model_.devices > 1) assume_link("link", model_.link);
  if (model_.nodes > 1) assume_link("port", model_.port);
  assumed("collective", model_.collective, assumed_collective, "not measured");
}

}  // namespace

Calibration calibrate(const Machine& machine, const std::optional<MachineModel>& earlier,
                      double seconds) {
  if (!(seconds > 0 && std::isfinite(seconds)))
    throw UsageError(
        fmt::format("a calibration cannot take {:g} seconds; allowed: seconds above 0", seconds));
  if (machine.device().shares_host_memory())
    throw UsageError(
        "a calibration measures GPUs, and this run has none; allowed: on machines with GPUs, or "
        "predictions with the shipped machine files (--machine h200)");
  const MachineTimes times(machine, seconds);
  return Calibrator(times, earlier).run();
}

}  // namespace speedwell
