// SPDX-License-Identifier: BSD-3-Clause
// The machine that a calibration finds: the same one on every rank, whole, and merged with a file.
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>

#include "calibrate/calibrate.hpp"
#include "catch.hpp"
#include "comm/communicator.hpp"
#include "device_choice.hpp"
#include "refusal.hpp"

namespace speedwell::test::calibrate_tests {
namespace {

/// Emulated GPUs need none to be sure: nobody asks how fast they are.
constexpr double seconds = 0.002;

bool has_gpus() {
  return device_choice().device == DeviceKind::cuda;
}

RunOptions run_options() {
  RunOptions run;
  run.threads = 1;
  run.device = test::device_choice().device;
  run.comm = test::device_choice().comm;
  return run;
}

Calibration calibrated(const std::optional<MachineModel>& earlier = {}) {
  return calibrate(Machine(comm_world(), run_options()), earlier, seconds);
}

/// Whether ranks share a GPU, which is refused.
bool share_gpus() {
  const MachineFacts facts = Machine(comm_world(), run_options()).facts();
  std::set<std::string> gpus;
  for (std::size_t r = 0; r < facts.gpus.size(); ++r) gpus.insert(facts.hosts[r] + facts.gpus[r]);
  return gpus.size() < facts.gpus.size();
}

std::string refusal_with(const std::optional<MachineModel>& earlier, double time = seconds) {
  const Machine machine(comm_world(), run_options());
  return test::refusal_of([&] { calibrate(machine, earlier, time); });
}

}  // namespace

TEST_CASE("a calibration without GPUs is refused in a line", "[calibrate]") {
  if (has_gpus()) return;
  CHECK(refusal_with({}) ==
        "a calibration measures GPUs, and this run has none; allowed: on machines with GPUs, or "
        "predictions with the shipped machine files (--machine h200)");
}

TEST_CASE("a calibration finds all numbers of a machine file, equal on all ranks", "[calibrate]") {
  if (!has_gpus()) return;
  const auto all = Communicator::duplicate(comm_world());
  if (share_gpus()) {
    CHECK_THAT(refusal_with({}), ContainsSubstring("several ranks share GPU"));
    return;
  }
  const Calibration found = calibrated();
  const MachineModel& machine = found.machine;

  // A whole file: parse_machine refuses one in which a number is missing, or is not positive.
  const std::string text = machine_text(machine);
  CHECK_THAT(text, !ContainsSubstring("no source was given"));
  const MachineModel again = parse_machine(text, "calibrated");
  CHECK(machine_text(again) == text);
  for (const std::string& other : all.all_gather(text)) CHECK(other == text);

  const DeviceModel& device = machine.device;
  CHECK(device.start > 0);
  CHECK(device.bandwidth > 1e6);
  for (const auto& [path, figure] : again.figures) {
    CAPTURE(path);
    CHECK(figure.value >= 0);
    const bool may_be_zero = path.find("half_") != std::string::npos || path == "message" ||
                             path.find("synchronize") != std::string::npos;
    CHECK((figure.value > 0 || may_be_zero));
  }
  // What a run on any number of ranks needs.
  for (const Precision p : {Precision::fp64, Precision::fp32, Precision::fp16, Precision::bf16}) {
    CAPTURE(name(p));
    CHECK(device.of(OperationKind::product, p).rate > 1e6);
    CHECK(device.of(OperationKind::product, p).origin == Origin::measured);
    CHECK(device.of(OperationKind::convert, p).rate > 1e4);
  }
  for (const Precision p : {Precision::fp64, Precision::fp32})
    CHECK(device.of(OperationKind::solve_left, p).rate > 1e4);
  CHECK(found.order >= 64);
  CHECK(found.operations.size() == device.operations.size());
  CHECK((found.mean_error >= 0 && found.mean_error <= found.largest_error));

  const bool pair = all.size() > 1;
  const auto origin = [&](const char* path) { return again.figures.at(path).origin; };
  CHECK(origin("message") == (pair ? Origin::measured : Origin::assumed));
  CHECK(origin("test") == (pair ? Origin::measured : Origin::assumed));
  if (machine.devices > 1) CHECK(origin("link.bandwidth") == Origin::assumed);
}

TEST_CASE("a calibration keeps what it does not measure again", "[calibrate]") {
  if (!has_gpus() || share_gpus()) return;
  const auto all = Communicator::duplicate(comm_world());
  MachineModel first = calibrated().machine;
  first.name = "mine";
  first.nodes = 7;
  first.topology = Topology::star;
  first.validation = "compared with runs";
  first.device.bandwidth = 123;
  first.device.holds = false;
  for (const char* path : {"message", "test", "port.latency", "port.bandwidth", "ranks[0].holds"})
    first.figures[path] = {1, Origin::datasheet, "by hand"};
  first.message = first.test = 1;
  first.port = {5, 6};

  const MachineModel again = calibrated(first).machine;
  CHECK(again.name == "mine");
  CHECK(again.nodes == 7);
  CHECK(again.port.latency == 6);
  CHECK(again.validation.empty());
  CHECK(again.device.bandwidth > 1e6);
  CHECK_FALSE(again.device.holds);
  CHECK(again.device.operations.size() == first.device.operations.size());
  CHECK((again.message == 1) == (all.size() == 1));
}

TEST_CASE("a calibration refuses the file of another machine", "[calibrate]") {
  if (!has_gpus() || share_gpus()) return;  // refused for that
  MachineModel other;
  other.device.name = "Abacus 3000";
  const std::string words = refusal_with(other);
  CHECK_THAT(words, ContainsSubstring("the machine file is of 'Abacus 3000'"));
  CHECK_THAT(words, ContainsSubstring("allowed"));
  for (const double time : {0., -1., std::numeric_limits<double>::infinity(), std::nan("")})
    CHECK_THAT(refusal_with(other, time), ContainsSubstring("allowed: seconds above 0"));
}
}  // namespace speedwell::test::calibrate_tests
