// SPDX-License-Identifier: BSD-3-Clause
// Counters of energy, what phases took of it, and the sums of a report.
#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "clocks.hpp"
#include "fake_sensors.hpp"
#include "sensors/energy_meter.hpp"
#include "sensors/energy_report.hpp"

namespace speedwell::test::sensor_energy_tests {
namespace {

const std::string powercap = "/sys/class/powercap/";
const std::string cray = "/sys/cray/pm_counters/";

void write_zone(const FakeTree& tree, const std::string& zone, const std::string& name,
                const std::string& energy, const std::string& range = "1000000000\n") {
  tree.write(powercap + zone + "/name", name + "\n");
  tree.write(powercap + zone + "/energy_uj", energy);
  tree.write(powercap + zone + "/max_energy_range_uj", range);
}

std::vector<std::string> names(const std::vector<EnergyCounter>& counters) {
  std::vector<std::string> found;
  for (const EnergyCounter& counter : counters) found.push_back(counter.domain.name);
  return found;
}

/// The J of the first domain in each phase; the reason where there are none.
std::vector<std::string> phases_of(const EnergyMeter& meter) {
  std::vector<std::string> found;
  const MeteredDomain first = meter.domains().at(0);
  for (const Sensed<>& joules : first.joules)
    found.push_back(joules ? fmt::format("{}", *joules) : joules.why_none());
  return found;
}
using Phases = std::vector<std::string>;

TEST_CASE("RAPL: packages and their DRAM, each once") {
  const FakeTree tree;
  tree.write(powercap + "intel-rapl/enabled", "1\n");
  write_zone(tree, "intel-rapl:0", "package-0", "5\n");
  write_zone(tree, "intel-rapl:0:0", "core", "5\n");
  write_zone(tree, "intel-rapl:0:1", "dram", "5\n");
  write_zone(tree, "intel-rapl:1", "package-1", "5\n");
  write_zone(tree, "intel-rapl:2", "psys", "5\n");
  write_zone(tree, "intel-rapl-mmio:0", "package-0", "5\n");
  write_zone(tree, "intel-rapl-mmio:0:0", "dram", "5\n");
  const std::vector<EnergyCounter> counters = node_energy(tree.files());
  CHECK(names(counters) == std::vector<std::string>{"package-0", "package-0 dram", "package-1"});
  CHECK(counters[0].domain.kind == EnergyKind::package);
  CHECK(counters[1].domain.kind == EnergyKind::dram);
  CHECK(name(counters[1].domain.source) == "RAPL");
  CHECK(counters[0].longest_gap == 0.5);  // 1 kJ at 2 kW
}

TEST_CASE("RAPL: a counter that wraps around goes on") {
  const FakeTree tree;
  const auto set = [&](const char* energy) {
    tree.write(powercap + "intel-rapl:0/energy_uj", energy);
  };
  write_zone(tree, "intel-rapl:0", "package-0", "999000000\n");
  SetClock clock;
  EnergyMeter meter(clock, node_energy(tree.files()), 2);
  meter.mark({});
  set("2000000\n");
  meter.mark(0);
  for (const char* energy : {"900000000\n", "800000000\n", "700000000\n"}) {  // twice around
    clock.time += 0.4;
    set(energy);
    meter.sample();
  }
  meter.mark(1);
  CHECK(phases_of(meter) == Phases{"3", "2698"});
}

TEST_CASE("RAPL: a wrap that may have been missed is no figure, and the next phase has one") {
  const FakeTree tree;
  write_zone(tree, "intel-rapl:0", "package-0", "1000000\n");
  SetClock clock;
  EnergyMeter meter(clock, node_energy(tree.files()), 2);
  clock.time = 100;  // before the first phase
  meter.mark({});
  clock.time += 0.6;
  meter.sample();
  meter.mark(0);
  tree.write(powercap + "intel-rapl:0/energy_uj", "3000000\n");
  meter.mark(1);
  CHECK(phases_of(meter) == Phases{"not read for 0.6 s, which is too long for this counter", "2"});
}

TEST_CASE("RAPL: what cannot be read says why") {
  const FakeTree tree;
  CHECK(node_energy(tree.files()).at(0).joules().why_none() ==
        "this machine offers no RAPL counters, as most virtual machines do");
  tree.folder(powercap);
  CHECK(names(node_energy(tree.files())) == std::vector<std::string>{"packages"});
  tree.folder(powercap + "intel-rapl:0");  // what was behind it is covered
  CHECK(node_energy(tree.files()).at(0).joules().why_none() ==
        "RAPL's files are hidden, as in most containers");
  const auto why = [&](const std::string& energy, const std::string& range) {
    write_zone(tree, "intel-rapl:0", "package-0", energy, range);
    return node_energy(tree.files()).at(0).joules().why_none();
  };
  CHECK(why("-3\n", "1000\n") == "energy_uj holds no number");
  CHECK(why("3\n", "") == "max_energy_range_uj holds no number");
  CHECK(why("1001\n", "1000\n") == "energy_uj is beyond its range");
  write_zone(tree, "intel-rapl:0", "package-0", "3\n");
  tree.folder(powercap + "intel-rapl:0/energy_uj");
  CHECK(node_energy(tree.files()).at(0).joules().why_none() == "energy_uj: Is a directory");
}

TEST_CASE("RAPL: a file that cannot be read at one mark spoils two phases alone") {
  const FakeTree tree;
  write_zone(tree, "intel-rapl:0", "package-0", "1000000\n");
  const SetClock clock;
  EnergyMeter meter(clock, node_energy(tree.files()), 4);
  meter.mark({});
  std::size_t phase = 0;
  for (const std::string energy : {"beyond", "4000000\n", "6000000\n", "1000000001\n"}) {
    tree.write(powercap + "intel-rapl:0/energy_uj", energy);
    meter.mark(phase++);
  }
  CHECK(phases_of(meter) == Phases{"energy_uj holds no number", "energy_uj holds no number", "2",
                                   "energy_uj is beyond its range"});
}

TEST_CASE("pm_counters: the node and its parts, with and without a time") {
  const FakeTree tree;
  tree.write(cray + "freshness", "17\n");
  tree.write(cray + "energy", "26486236 J 1616676113158951 us\n");
  tree.write(cray + "cpu_energy", "100 J 1616676113158951 us\n");
  tree.write(cray + "memory_energy", "50 J\n");
  tree.write(cray + "accel0_energy", "300 J\n");
  tree.write(cray + "accel0_power", "30 W\n");
  tree.write(cray + "network_energy", "3 J\n");
  tree.write(cray + "power", "30 W\n");
  const std::vector<EnergyCounter> counters = node_energy(tree.files());
  CHECK(names(counters) == std::vector<std::string>{"packages", "accel0", "cpu", "node", "memory"});
  CHECK(*counters[3].joules() == 26486236);
  CHECK(counters[1].domain.kind == EnergyKind::gpu);
  CHECK(counters[2].domain.kind == EnergyKind::package);
  CHECK(counters[3].domain.kind == EnergyKind::node);
  CHECK(counters[4].domain.kind == EnergyKind::dram);
  tree.write(cray + "energy", "J\n");
  CHECK(counters[3].joules().why_none() == "energy holds no number");
}

TEST_CASE("a counter that starts again is no figure") {
  const FakeTree tree;
  tree.write(cray + "energy", "500 J\n");
  std::vector<EnergyCounter> counters = node_energy(tree.files());
  const SetClock clock;
  EnergyMeter meter(clock, {std::move(counters.at(1))}, 2);
  meter.mark({});
  tree.write(cray + "energy", "20 J\n");
  meter.mark(0);
  tree.write(cray + "energy", "30 J\n");
  meter.mark(1);
  CHECK(phases_of(meter) == Phases{"the counter went back", "10"});
}

TEST_CASE("a GPU's energy by its counter, whose difference is exact") {
  const FakeNvml fake;
  const SetClock clock;
  EnergyMeter meter(clock, {gpu_energy(fake.gpu(), "GPU 5")}, 2);
  meter.mark({});
  fake.set("ENERGY", "5000000012500");
  meter.mark(0);
  fake.set("ENERGY", "error 15");
  meter.mark(1);
  CHECK(phases_of(meter) == Phases{"12.5", "the GPU is lost"});
  CHECK(meter.domains()[0].domain.name == "GPU 5");
  CHECK(name(meter.domains()[0].domain.source) == "NVML energy counter");
}

TEST_CASE("a GPU that tells no energy, and one that is not there") {
  const FakeNvml fake;
  fake.set("ENERGY", "error 3");
  CHECK(gpu_energy(fake.gpu(), "GPU 0").joules().why_none() == "not supported by this GPU");
  const auto absent = Nvml("libnothing.so.1").gpu("0000:65:00.0");
  CHECK(gpu_energy(absent, "GPU 0").joules().why_none() == "libnothing.so.1 not found");
}

TEST_CASE("the meter's thread reads between the marks, and ends before its counters") {
  std::atomic<int> readings = 0;
  const SteadyClock clock;
  {
    const auto count = [&readings] { return Sensed<>(static_cast<double>(++readings)); };
    EnergyMeter meter(clock, {{{"package-0", EnergyKind::package}, count, 0.02}}, 1);
    meter.start();
    meter.mark({});
    const double begin = clock.now();
    while (readings < 5 && clock.now() < begin + 60) std::this_thread::yield();
    meter.mark(0);
    const auto [begin_time, end_time] = meter.unix_times();
    CHECK(end_time >= begin_time);
    CHECK(meter.domains().at(0).joules.size() == 1);
  }
  CHECK(readings >= 5);
}

TEST_CASE("counters that cannot wrap are read at the marks alone") {
  const FakeTree tree;
  tree.write(cray + "energy", "500 J\n");
  std::vector<EnergyCounter> counters = node_energy(tree.files());
  CHECK(std::isinf(counters.at(1).longest_gap));
}

EnergyPart part(const std::string& node, const std::string& name, EnergyKind kind,
                EnergySource source, std::vector<Sensed<>> joules) {
  return {{{name, kind, source}, std::move(joules)}, node, 0};
}
const Sensed<> none = Sensed<>::none("root only");
using Joules = std::vector<Sensed<>>;

std::vector<double> values(const Joules& joules) {
  std::vector<double> found;
  for (const Sensed<>& figure : joules) found.push_back(figure ? *figure : -1);
  return found;
}
using Values = std::vector<double>;

TEST_CASE("sums of energy: GPUs and packages, node by node, what is missing is named") {
  const EnergyReport report =
      energy_report({"lu", "refinement"},
                    {part("a", "GPU 0", EnergyKind::gpu, EnergySource::nvml, {100., 10.}),
                     part("a", "GPU 1", EnergyKind::gpu, EnergySource::nvml, {200., 20.}),
                     part("a", "package-0", EnergyKind::package, EnergySource::rapl, {30., 3.}),
                     part("a", "package-0 dram", EnergyKind::dram, EnergySource::rapl, {5., 5.}),
                     part("b", "GPU 0", EnergyKind::gpu, EnergySource::nvml, {1000., 100.}),
                     part("b", "GPU 1", EnergyKind::gpu, EnergySource::nvml, {7., none}),
                     part("b", "package-0", EnergyKind::package, EnergySource::rapl, {none, none})},
                    1, 2);
  CHECK(values(report.sum) == Values{1330, 133});
  REQUIRE(report.nodes.size() == 2);
  CHECK(values(report.nodes[0].sum) == Values{330, 33});
  CHECK(values(report.nodes[1].sum) == Values{1000, 100});
  CHECK(report.nodes[0].counter.empty());
  CHECK(report.missing ==
        std::vector<std::string>{"GPU 1 on b: root only", "package-0 on b: root only"});
  CHECK_FALSE(report.parts[3].summed);
  CHECK_FALSE(report.parts[5].summed);
  CHECK(*total_joules(report.sum) == 1463);
  CHECK(*gflops_per_watt(1463e9 * 50, total_joules(report.sum)) == 50);
}

TEST_CASE("sums of energy: pm_counters count once, and the node stands apart") {
  const auto pm = EnergySource::pm_counters;
  const std::vector<EnergyPart> parts{
      part("a", "GPU 0", EnergyKind::gpu, EnergySource::nvml, {100.}),
      part("a", "accel0", EnergyKind::gpu, pm, {101.}),
      part("a", "package-0", EnergyKind::package, EnergySource::rapl, {none}),
      part("a", "cpu", EnergyKind::package, pm, {40.}),
      part("a", "node", EnergyKind::node, pm, {500.})};
  const EnergyReport report = energy_report({"lu"}, parts, 1, 2);
  CHECK(values(report.sum) == Values{140});
  CHECK(values(report.nodes.at(0).counter) == Values{500});
  CHECK(report.missing.empty());
}

TEST_CASE("sums of energy: nothing could be read") {
  const EnergyReport report = energy_report(
      {"lu"}, {part("a", "packages", EnergyKind::package, EnergySource::rapl, {none})}, 1, 2);
  CHECK_FALSE(report.sum.at(0));
  CHECK(total_joules(report.sum).why_none() == "nothing could be read");
  CHECK_FALSE(gflops_per_watt(1e9, total_joules(report.sum)));
  CHECK_FALSE(gflops_per_watt(1e9, 0.));
}

}  // namespace
}  // namespace speedwell::test::sensor_energy_tests
