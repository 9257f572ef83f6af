// SPDX-License-Identifier: BSD-3-Clause
// Files of sensors, NVML and its GPUs, processors.
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <new>
#include <string>
#include <thread>

#include "catch.hpp"
#include "fake_sensors.hpp"
#include "sensors/cpu_sensor.hpp"
#include "sensors/system_file.hpp"
#include "sensors/ticker.hpp"

namespace speedwell::test::sensor_tests {
namespace {

TEST_CASE("files of sensors: numbers, and why there are none") {
  const FakeTree tree;
  tree.write("/a/count", "1234\n");
  tree.write("/a/joules", "18446744073709551615 J 17 us\n");
  tree.write("/a/words", "none of your business\n");
  tree.write("/a/large", "18446744073709551616\n");
  tree.write("/a/fraction", "12.5\n");
  tree.write("/a/empty", "");
  tree.write("/a/zero", std::string("12\0", 3));
  tree.folder("/a/folder");
  const SystemFiles files = tree.files();
  CHECK(*files.number("/a/count") == 1234);
  CHECK(*files.number("/a/joules") == 18446744073709551615U);
  for (const std::string name : {"words", "large", "fraction", "empty", "zero"})
    CHECK(files.number("/a/" + name).why_none() == name + " holds no number");
  CHECK(files.number("/a/folder").why_none() == "folder: Is a directory");
  CHECK(files.number("/a/missing").why_none() == "missing: No such file or directory");
  CHECK(*files.text("/a/words") == "none of your business");
  CHECK(*files.text("/a/words", 4) == "none");
  CHECK(files.text("/a/empty")->empty());
  CHECK(files.names("/a").front() == "count");
  CHECK(files.names("/b").empty());
}

TEST_CASE("NVML: why it cannot be used") {
  CHECK(Nvml("libnothing-of-that-name.so.1").why_none() ==
        "libnothing-of-that-name.so.1 not found");
  const FakeTree tree;
  tree.write("/text.so", "this is no library");
  CHECK_THAT(Nvml(tree.path("/text.so")).why_none(), ContainsSubstring("cannot be loaded"));
  const FakeNvml fake;
  for (const auto& [error, words] : std::map<std::string, std::string>{
           {"error 9", "NVIDIA's driver is not loaded"},
           {"error 18", "NVIDIA's driver and libnvidia-ml.so.1 have different versions"},
           {"error 999", "NVML: an error of the imitation"}}) {
    fake.set("INIT", error);
    const Nvml broken = fake.open();
    CHECK(broken.why_none() == words);
    CHECK(broken.gpus().empty());
    CHECK(broken.gpu("0000:65:00.0").why_none() == words);
    CHECK(broken.driver_version().why_none() == words);
  }
}

TEST_CASE("NVML: GPUs by PCI bus id and by the beginning of the UUID") {
  const FakeNvml fake;
  const Nvml nvml = fake.open();
  REQUIRE(nvml.why_none().empty());
  CHECK(*nvml.driver_version() == "570.00");
  CHECK(nvml.gpus().size() == 2);
  const std::string uuid = "GPU-01234567-89ab-cdef-0123-456789abcdef";
  CHECK(*nvml.gpu("0000:65:00.0")->uuid() == uuid);
  CHECK(*nvml.gpu("GPU-0123456789AB")->uuid() == uuid);
  CHECK(*nvml.gpu("gpu-01234567-89")->uuid() == uuid);
  for (const std::string other : {"0000:66:00.0", "GPU-1", ""})
    CHECK(nvml.gpu(other).why_none() == "no such GPU");
  fake.set("COUNT", "error 1");
  CHECK(nvml.gpus().empty());
}

TEST_CASE("NVML: the figures of a GPU, in units that people use") {
  const FakeNvml fake;
  const GpuSensor gpu = fake.gpu();
  const GpuReading r = gpu.read();
  CHECK(*r.watts == 650.5);
  CHECK(*gpu.joules() == 5e9);
  CHECK(*r.celsius == 61);
  CHECK(*r.utilization == 0.97);
  CHECK(*r.memory_utilization == 0.4);
  CHECK(*r.sm_mhz == 1234);
  CHECK(*r.memory_mhz == 1);
  CHECK(throttle_words(*r.throttle) == "power limit, thermal throttling");
  CHECK(*r.pcie_generation == 4);
  CHECK(*r.pcie_width == 8);
  std::map<std::string, double> state;
  for_each_figure(gpu.state(), [&](const char* name, const Sensed<>& figure) {
    INFO(name << ": " << figure.why_none());
    REQUIRE(figure);
    state[name] = *figure;
  });
  const std::map<std::string, double> expected{{"power_limit_watts", 700},
                                               {"max_pcie_generation", 5},
                                               {"max_pcie_width", 16},
                                               {"pcie_replays", 3},
                                               {"nvlinks_up", 3},
                                               {"nvlinks_down", 1},
                                               {"nvlink_errors", 192},
                                               {"ecc_corrected", 7},
                                               {"ecc_uncorrected", 1},
                                               {"rows_remapped_corrected", 4},
                                               {"rows_remapped_uncorrected", 2},
                                               {"remap_pending", 1},
                                               {"remap_failed", 0}};
  CHECK(state == expected);
}

TEST_CASE("NVML: what a GPU does not tell is none, with the reason") {
  const FakeNvml fake;
  const GpuSensor gpu = fake.gpu();
  for (const char* name : {"CLOCK", "UTILIZATION", "NVLINK", "REMAPPED"}) fake.set(name, "error 3");
  fake.set("POWER", "error 4");
  fake.set("TEMPERATURE", "error 15");
  fake.set("NVLINK_ERRORS", "error 3");
  fake.set("THROTTLE", "error 2");
  const GpuReading r = gpu.read();
  const std::string unsupported = "not supported by this GPU";
  CHECK(r.watts.why_none() == "not permitted to this user");
  CHECK(r.celsius.why_none() == "the GPU is lost");
  for (const Sensed<>& figure : {r.sm_mhz, r.memory_mhz, r.utilization, r.memory_utilization}) {
    CHECK_FALSE(figure);
    CHECK(figure.why_none() == unsupported);
  }
  CHECK(r.throttle.why_none() == "NVML: an error of the imitation");
  CHECK(*r.pcie_width == 8);
  GpuState state = gpu.state();
  for (const Sensed<>& figure : {state.nvlinks_up, state.nvlink_errors, state.remap_pending}) {
    CHECK_FALSE(figure);
    CHECK(figure.why_none() == unsupported);
  }
  fake.set("NVLINK", "1");  // links without counters of errors
  state = gpu.state();
  CHECK(*state.nvlinks_up == 4);
  CHECK(state.nvlink_errors.why_none() == unsupported);
}

TEST_CASE("words of throttling") {
  CHECK(throttle_words(0).empty());
  CHECK(throttle_words(1) == "idle");
  CHECK(throttle_words(1ULL << 60).empty());
}

TEST_CASE("processors: mean frequency, and load since the previous reading") {
  const FakeTree tree;
  tree.write("/proc/stat", "cpu  100 10 30 800 60 0 0 0 7 0\ncpu0 1 2 3\n");
  for (const std::string cpu : {"cpu0", "cpu1", "cpu10"})
    tree.write("/sys/devices/system/cpu/" + cpu + "/cpufreq/scaling_cur_freq", "3000000\n");
  tree.folder("/sys/devices/system/cpu/cpufreq");
  tree.folder("/sys/devices/system/cpu/cpu2/cpufreq/scaling_cur_freq");
  CpuSensor cpus(tree.files());
  tree.write("/sys/devices/system/cpu/cpu10/cpufreq/scaling_cur_freq", "1500000\n");
  tree.write("/proc/stat", "cpu  150 10 40 820 80 0 0 0 9 0\n");
  CpuReading reading = cpus.read();
  CHECK(*reading.mhz == 2500);
  CHECK(*reading.load == 0.6);
  tree.folder("/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq");  // taken offline
  reading = cpus.read();
  CHECK(*reading.mhz == 2250);
  CHECK(reading.load.why_none() == "/proc/stat has not counted on");
  tree.write("/proc/stat", "cpu  garbage\n");
  CHECK(cpus.read().load.why_none() == "/proc/stat: not understood");
}

TEST_CASE("processors without cpufreq, and without anything") {
  const FakeTree tree;
  tree.write("/proc/cpuinfo",
             "processor\t: 0\ncpu MHz\t\t: 2000.5\n\nprocessor\t: 1\ncpu MHz\t\t: 3000.5\n");
  CHECK(*CpuSensor(tree.files()).read().mhz == 2500.5);
  tree.write("/proc/cpuinfo", "processor\t: 0\ncpu MHz\t\t: unknown\n");
  const CpuReading none = CpuSensor(tree.files()).read();
  CHECK(none.mhz.why_none() == "neither cpufreq nor /proc/cpuinfo tells a frequency");
  CHECK(none.load.why_none() == "stat: No such file or directory");
}

TEST_CASE("a ticker ticks, survives what a step throws, and ends within a sleep") {
  std::atomic<int> ticks = 0;
  std::promise<void> third;
  Ticker ticker;
  ticker.start(0.001, [&] {
    if (++ticks == 3) third.set_value();
    throw std::bad_alloc();
  });
  REQUIRE(third.get_future().wait_for(std::chrono::seconds(60)) == std::future_status::ready);
  ticker.stop();
  const int at_stop = ticks;
  Ticker asleep;
  asleep.start(1e6, [] {});
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  asleep.stop();  // would last for days
  CHECK(ticks == at_stop);
}

}  // namespace
}  // namespace speedwell::test::sensor_tests
