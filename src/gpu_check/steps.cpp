// SPDX-License-Identifier: BSD-3-Clause
#include "steps.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <sstream>

#include "measurements.hpp"
#include "suites.hpp"
#include "tasks.hpp"

namespace speedwell::gpu_check {

namespace {

using nlohmann::ordered_json;

/// The value in a line of `speedwell info` with this label.
std::optional<std::string> value_of(const std::string& line, const std::string& label) {
  if (line.rfind(label + " ", 0) != 0) return std::nullopt;
  const std::size_t begin = line.find_first_not_of(' ', label.size());
  return begin == std::string::npos ? "" : line.substr(begin);
}

/// The GPU of a text such as "GPU 0 (NVIDIA H200, GPU-01234567), 138.9 GiB free: ...".
Gpu read_gpu(const std::string& text) {
  Gpu gpu{"", text, "", ""};
  const std::size_t open = text.find('(');
  const std::size_t begin = open == std::string::npos ? 0 : open + 1;
  const std::size_t comma = text.find_first_of(",)", begin);
  gpu.name = text.substr(begin, comma - begin);
  const std::size_t close = text.find(')', begin);
  if (comma != std::string::npos && close != std::string::npos && comma < close)
    gpu.uuid = text.substr(text.find_first_not_of(' ', comma + 1),
                           close - text.find_first_not_of(' ', comma + 1));
  return gpu;
}

/// Records the output of a program as a fact about the machine. Its failure is not one of
/// Speedwell's.
void note_words_of(Session& session, const std::string& name, std::vector<std::string> command,
                   std::size_t line_shown) {
  Task task = suite("facts", name, std::move(command));
  task.limit = 20;
  task.may_fail = true;
  task.result = [](const Outcome& outcome) { return ordered_json(outcome.out); };
  task.words = [line_shown](const ordered_json& text) {
    std::istringstream lines(text.get<std::string>());
    std::string line;
    for (std::size_t i = 0; i <= line_shown; ++i) std::getline(lines, line);
    return line;
  };
  session.run(task);
}

struct Step {
  const char* name;
  double seconds;  ///< its share of 560, if all steps run; later steps get what it leaves
  void (*run)(Measurements&, Suites&);
};

constexpr std::array all_steps = {
    Step{"device", 70, [](Measurements&, Suites& s) { s.device(); }},
    Step{"kernels", 30, [](Measurements& m, Suites&) { m.kernels(); }},
    Step{"sanitizer", 65, [](Measurements&, Suites& s) { s.sanitizers(); }},
    Step{"big", 20, [](Measurements&, Suites& s) { s.big(); }},
    Step{"mpi", 30, [](Measurements&, Suites& s) { s.mpi(); }},
    Step{"accuracy", 15, [](Measurements&, Suites& s) { s.accuracy(); }},
    Step{"systems", 15, [](Measurements&, Suites& s) { s.systems(); }},
    Step{"mxp", 100, [](Measurements& m, Suites&) { m.smoke(), m.sizes(); }},
    Step{"ceilings", 80, [](Measurements& m, Suites&) { m.ceilings(); }},
    Step{"hpl", 55, [](Measurements& m, Suites&) { m.hpl(); }},
    Step{"first_steps", 20, [](Measurements& m, Suites&) { m.first_steps(); }},
    Step{"cusolver", 30, [](Measurements& m, Suites&) { m.cusolver(); }},
    Step{"profile", 20, [](Measurements&, Suites& s) { s.profile(); }},
    Step{"machine", 10, [](Measurements& m, Suites&) { m.machine(); }},
};

}  // namespace

Gpu find_gpu(Session& session) {
  Task task = suite("facts", "speedwell info", {session.program("speedwell"), "info"});
  task.result = [](const Outcome& outcome) { return ordered_json(outcome.out); };
  const ordered_json record = session.run(task);
  if (record["verdict"] != "passed")
    throw Fault(fmt::format("speedwell info: {}", record["words"].get<std::string>()));
  std::istringstream lines(record["result"].get<std::string>());
  Gpu gpu{"", "", "", "speedwell info names none"};
  const std::string none = "none: ";
  for (std::string line; std::getline(lines, line);) {
    if (const auto version = value_of(line, "Speedwell")) session.document()["version"] = *version;
    if (const auto revision = value_of(line, "revision"))
      session.document()["revision"] = *revision;
    const auto cuda = value_of(line, "device cuda");
    if (!cuda || !gpu.name.empty()) continue;
    if (cuda->rfind(none, 0) == 0)
      gpu.why = cuda->substr(none.size());
    else
      gpu = read_gpu(*cuda);
  }
  session.document()["gpu"] = gpu.description;
  return gpu;
}

void note_facts(Session& session) {
  if (const std::string smi = find_program("nvidia-smi"); smi.empty()) {
    session.note(suite("facts", "nvidia-smi", {}), "absent", "there is no nvidia-smi");
  } else {
    const std::string fields =
        "name,driver_version,memory.total,power.limit,clocks.sm,clocks.mem,clocks.max.sm,"
        "clocks.max.mem,temperature.gpu,power.draw";
    note_words_of(session, "nvidia-smi", {smi, "--query-gpu=" + fields, "--format=csv"}, 1);
    note_words_of(session, "nvidia-smi, all", {smi, "-q"}, 0);
  }
  // A program of the archive reports which CUDA libraries it found, and where.
  const std::string environment = session.program("speedwell-environment");
  if (!find_program(environment).empty()) note_words_of(session, "libraries", {environment}, 0);
}

std::vector<std::string_view> step_names() {
  std::vector<std::string_view> names;
  names.reserve(all_steps.size());
  for (const Step& step : all_steps) names.push_back(step.name);
  return names;
}

void run_steps(Session& session) {
  Measurements measurements(session);
  Suites suites(session);
  const std::vector<std::string>& only = session.options().only;
  const auto is_run = [&](const Step& step) {
    return only.empty() || std::find(only.begin(), only.end(), step.name) != only.end();
  };
  double total = 0;
  for (const Step& step : all_steps)
    if (is_run(step)) total += step.seconds;
  double until = 0;
  for (const Step& step : all_steps) {
    if (!is_run(step)) continue;
    until += step.seconds;
    session.until(until / total);
    step.run(measurements, suites);
  }
}

}  // namespace speedwell::gpu_check
