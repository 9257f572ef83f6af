// SPDX-License-Identifier: BSD-3-Clause
#include "sensors/cpu_sensor.hpp"

#include <sstream>
#include <utility>

namespace speedwell {

CpuSensor::CpuSensor(SystemFiles files) : files_(std::move(files)), last_(times()) {
  const std::string folder = "/sys/devices/system/cpu/";
  for (const std::string& cpu : files_.names(folder)) {
    const std::string file = folder + cpu + "/cpufreq/scaling_cur_freq";
    if (cpu.rfind("cpu", 0) == 0 && files_.number(file)) frequency_files_.push_back(file);
  }
}

CpuReading CpuSensor::read() {
  CpuReading reading;
  reading.mhz = megahertz();
  const Sensed<Times> now = times();
  const Sensed<Times> before = std::exchange(last_, now);
  if (!now || !before)
    reading.load = Sensed<>::none(now ? before.why_none() : now.why_none());
  else if (now->all <= before->all || now->busy < before->busy)
    reading.load = Sensed<>::none("/proc/stat has not counted on");
  else
    reading.load =
        static_cast<double>(now->busy - before->busy) / static_cast<double>(now->all - before->all);
  return reading;
}

Sensed<> CpuSensor::megahertz() const {
  double sum = 0;
  int count = 0;
  for (const std::string& file : frequency_files_) {
    const Sensed<std::uint64_t> kilohertz = files_.number(file);
    if (!kilohertz) continue;  // this CPU was taken offline
    sum += static_cast<double>(*kilohertz) / 1e3;
    ++count;
  }
  if (frequency_files_.empty()) {
    constexpr std::size_t most = 1 << 20;  // some 1500 bytes for each CPU
    std::istringstream lines(files_.text("/proc/cpuinfo", most).value().value_or(""));
    for (std::string line; std::getline(lines, line);) {
      double mhz = 0;
      const std::size_t colon = line.find(':');
      if (line.rfind("cpu MHz", 0) != 0 || colon == std::string::npos) continue;
      if (!(std::istringstream(line.substr(colon + 1)) >> mhz)) continue;
      sum += mhz;
      ++count;
    }
  }
  if (count == 0) return Sensed<>::none("neither cpufreq nor /proc/cpuinfo tells a frequency");
  return sum / count;
}

Sensed<CpuSensor::Times> CpuSensor::times() const {
  // cpu user nice system idle iowait irq softirq steal; what follows is part of these.
  const Sensed<std::string> text = files_.text("/proc/stat", 256);
  if (!text) return Sensed<Times>::none(text.why_none());
  std::istringstream words(*text);
  std::string label;
  words >> label;
  Times times;
  constexpr int columns = 8, idle = 3, waiting = 4;
  for (int column = 0; column < columns; ++column) {
    std::uint64_t ticks = 0;
    if (label != "cpu" || !(words >> ticks))
      return Sensed<Times>::none("/proc/stat: not understood");
    times.all += ticks;
    if (column != idle && column != waiting) times.busy += ticks;
  }
  return times;
}

}  // namespace speedwell
