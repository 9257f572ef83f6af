// SPDX-License-Identifier: BSD-3-Clause
// Samples of GPUs and processors beside a run.
#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "clocks.hpp"
#include "fake_sensors.hpp"
#include "sensors/monitor.hpp"

namespace speedwell::test::sensor_monitor_tests {
namespace {

const MonitorSeries& series(const MonitorRecord& record, std::string_view device, Quantity what) {
  for (const MonitorSeries& one : record.series)
    if (one.device == device && one.quantity == what) return one;
  throw std::runtime_error("no such series");
}

TEST_CASE("monitor: minimum, mean and maximum, and when") {
  const FakeNvml fake;
  SetClock clock(100);
  Monitor monitor(clock, {{"GPU 3", fake.gpu()}}, std::nullopt, {});
  for (const char* power : {"300000", "100000", "error 15", "500000", "100000"}) {
    fake.set("POWER", power);
    monitor.sample();
    clock.time += 1;
  }
  fake.set("PCIE_REPLAYS", "9");
  const MonitorRecord record = monitor.record();
  CHECK(record.taken == 5);
  CHECK(record.times == std::vector<double>{100, 101, 102, 103, 104});
  const MonitorSeries& power = series(record, "GPU 3", Quantity::power);
  CHECK(power.count == 4);
  CHECK(power.minimum == 100);
  CHECK(power.minimum_time == 101);
  CHECK(power.maximum == 500);
  CHECK(power.maximum_time == 103);
  CHECK(power.mean == 250);
  CHECK(power.why_none == "the GPU is lost");
  CHECK(std::isnan(power.values.at(2)));
  CHECK(power.values.at(3) == 500);
  CHECK(traits(power.quantity).name == "power_watts");
  CHECK(traits(Quantity::cpu_load).name == "cpu_load");
  CHECK(series(record, "GPU 3", Quantity::sm_clock).mean == 1234);
  CHECK(series(record, "GPU 3", Quantity::pcie_width).mean == 8);
  const MonitoredGpu& gpu = record.gpus.at(0);
  CHECK(gpu.throttle_samples == 5);
  CHECK(gpu.throttled[2] == 5);
  CHECK(gpu.throttled[0] == 0);
  CHECK(*gpu.after.pcie_replays - *gpu.before.pcie_replays == 6);
}

TEST_CASE("monitor: memory is bounded, and what is left out counts") {
  const FakeTree tree;
  SetClock clock;
  Monitor monitor(clock, {}, CpuSensor(tree.files()), {.capacity = 4});
  for (int i = 0; i < 21; ++i) {
    tree.write("/proc/cpuinfo", fmt::format("cpu MHz : {}\n", 1000 + i));
    clock.time = i;
    monitor.sample();
  }
  const MonitorRecord record = monitor.record();
  CHECK(record.taken == 21);
  CHECK(record.times == std::vector<double>{0, 8, 16});
  const MonitorSeries& clocks = series(record, "CPUs", Quantity::cpu_clock);
  CHECK(clocks.values == std::vector<double>{1000, 1008, 1016});
  CHECK(clocks.maximum == 1020);  // of a sample that was left out
  CHECK(clocks.mean == 1010);
  CHECK(series(record, "CPUs", Quantity::cpu_load).why_none == "stat: No such file or directory");
}

TEST_CASE("monitor: each limit warns once for each GPU") {
  const FakeNvml fake;
  const SetClock clock;
  std::vector<std::string> lines;
  const GpuSensor other = fake.open().gpus().front();
  Monitor monitor(clock, {{"GPU 0", fake.gpu()}, {"GPU 1", other}}, std::nullopt,
                  {.limits = {.celsius_above = 61, .sm_mhz_below = 1000, .watts_above = 700},
                   .warn = [&](const std::string& line) { lines.push_back(line); }});
  fake.set("THROTTLE", "1");
  monitor.sample();
  CHECK(lines.empty());  // 61 C is not above; GPU 1 has 1 MHz, but it is idle
  fake.set("TEMPERATURE", "62");
  fake.set("THROTTLE", "0x20");
  fake.set("POWER", "error 3");
  for (int i = 0; i < 3; ++i) monitor.sample();
  CHECK(lines ==
        std::vector<std::string>{"GPU 0: temperature 62 C, above 61 C (thermal throttling)",
                                 "GPU 1: temperature 62 C, above 61 C (thermal throttling)",
                                 "GPU 1: SM clock 1 MHz, below 1000 MHz (thermal throttling)"});
  fake.set("THROTTLE", "0");
  fake.set("POWER", "700001");
  monitor.sample();
  REQUIRE(lines.size() == 5);
  CHECK(lines[3] == "GPU 0: power 700.001 W, above 700 W");
}

TEST_CASE("monitor: a GPU that cannot be found has series without values") {
  const SetClock clock;
  Monitor monitor(clock, {{"GPU 0", Nvml("libnothing.so.1").gpu("0000:65:00.0")}}, std::nullopt,
                  {.limits = {.celsius_above = 0}, .warn = [](const std::string&) { FAIL(); }});
  monitor.sample();
  const MonitorRecord record = monitor.record();
  const MonitorSeries& power = series(record, "GPU 0", Quantity::power);
  CHECK(power.count == 0);
  CHECK(power.why_none == "libnothing.so.1 not found");
  CHECK(std::isnan(power.mean));
  CHECK(record.gpus.at(0).why_no_throttle == "libnothing.so.1 not found");
  CHECK_FALSE(record.gpus.at(0).after.pcie_replays);
}

TEST_CASE("monitor: its thread samples, and ends at once") {
  const FakeNvml fake;
  const SteadyClock clock;
  {
    Monitor monitor(clock, {{"GPU 0", fake.gpu()}}, CpuSensor(), {.seconds = 0.001});
    monitor.start();
    const double begin = clock.now();
    while (monitor.record().taken < 5 && clock.now() < begin + 60) std::this_thread::yield();
    CHECK(monitor.record().taken >= 5);
    monitor.stop();
    const auto taken = monitor.record().taken;
    CHECK(monitor.record().taken == taken);
  }
  Monitor asleep(clock, {}, std::nullopt, {.seconds = 1e6});
  asleep.start();
  CHECK(asleep.record().taken == 1);  // the first sample, at once; then it sleeps for days
}

}  // namespace
}  // namespace speedwell::test::sensor_monitor_tests
