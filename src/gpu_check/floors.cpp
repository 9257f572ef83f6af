// SPDX-License-Identifier: BSD-3-Clause
#include "floors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace speedwell::gpu_check {

namespace {

using nlohmann::ordered_json;

/// The measured ceilings, in operations, bytes and entries a second.
struct Machine {
  double product;   ///< product of the update, and of solves with a panel's triangle
  double copy;      ///< bytes read and written
  double read;      ///< bytes read
  double generate;  ///< entries of A, generated and multiplied
};

Machine machine_of(const ordered_json& steps, bool hpl) {
  const auto product = [&](const char* precision) {
    return fastest_rate(steps, "product", precision).value * tera;
  };
  return {product(hpl ? "fp64" : "fp16"), fastest_rate(steps, "copy").value * giga,
          fastest_rate(steps, "read").value * giga,
          fastest_rate(steps, "multiply_generated").value * giga};
}

struct Floors {
  double update = 0;
  double panel = 0;
  double rows = 0;
};

/// Seconds of all steps of the right-looking order with look-ahead 1. The update of the next
/// panel's own column counts as part of the panel.
Floors factorization_floors(double n, double nb, const Machine& m, bool hpl) {
  // Bytes of one entry: an entry is read for the largest magnitude, then read and rounded; in FP64
  // it is copied. Each pivot exchanges two rows, whose entries are read and written.
  const double cast = hpl ? 16 : 10;
  const double exchange = hpl ? 32 : 0;
  Floors floors;
  for (double left = n; left > 0; left -= nb) {
    const double w = std::min(nb, left);
    const double trailing = left - w;
    const double own = std::min(nb, trailing);
    const double solve = trailing * w * w / m.product;
    const double cast_time = cast * trailing * w / m.copy;
    floors.update += 2 * trailing * (trailing - own) * w / m.product;
    floors.panel +=
        2. / 3 * w * w * w / m.product + solve + cast_time + 2 * trailing * own * w / m.product;
    floors.rows += solve + cast_time + exchange * w * trailing / m.copy;
  }
  return floors;
}

ordered_json line(const std::string& phase, double seconds, double floor) {
  const bool known = floor > 0 && std::isfinite(floor);
  return {{"phase", phase},
          {"seconds", seconds},
          {"floor_seconds", known ? ordered_json(floor) : ordered_json()},
          {"ratio", known ? ordered_json(seconds / floor) : ordered_json()}};
}

double excess(const ordered_json& phase) {
  return phase["seconds"].get<double>() -
         (phase["floor_seconds"].is_number() ? phase["floor_seconds"].get<double>() : 0);
}

const ordered_json* largest_excess(const ordered_json& phases,
                                   std::initializer_list<const char*> names) {
  const ordered_json* found = nullptr;
  for (const ordered_json& phase : phases)
    for (const char* name : names)
      if (phase["phase"] == name && (found == nullptr || excess(phase) > excess(*found)))
        found = &phase;
  return found;
}

std::string words_of(const ordered_json& phase) {
  if (!phase["floor_seconds"].is_number())
    return fmt::format("{}, {:.2f} s", phase["phase"].get<std::string>(),
                       phase["seconds"].get<double>());
  return fmt::format("{}, {:.2f} s over its floor of {:.2f} s", phase["phase"].get<std::string>(),
                     excess(phase), phase["floor_seconds"].get<double>());
}

constexpr const char* outside = "LU outside the update";

/// The phase with the largest excess over its floor. Panels and rows run beside the update, so they
/// matter only by the time that they take outside of it.
std::string look_first(const ordered_json& phases) {
  const ordered_json* most = largest_excess(phases, {"update", outside, "solves", "residuals"});
  if (most == nullptr) return "";
  if ((*most)["phase"] != outside) return words_of(*most);
  const ordered_json* part = largest_excess(phases, {"panel", "rows", "broadcast_exposed"});
  return words_of(*most) + (part == nullptr ? "" : "; there: " + words_of(*part));
}

}  // namespace

double median_mhz(const ordered_json& measured) {
  const auto clocks = measured.find("clocks");
  if (clocks == measured.end() || !clocks->is_object() || !(*clocks)["sm_mhz"].is_object())
    return 0;
  return (*clocks)["sm_mhz"]["median"].get<double>();
}

Rate fastest_rate(const ordered_json& steps, const std::string& part,
                  const std::string& precision) {
  Rate best;
  for (const ordered_json& step : steps) {
    // A run that was cut off counts with the measurements that it had made.
    if (step["step"] != "ceilings" || !step.contains("result")) continue;
    for (const ordered_json& line : step["result"])
      if (line.value("part", "") == part &&
          (precision.empty() || line.value("precision", "") == precision) &&
          line.value("rate", 0.0) > best.value)
        best = {line.value("rate", 0.0), median_mhz(line)};
  }
  return best;
}

ordered_json phases_of(const ordered_json& run, bool hpl, const ordered_json& steps) {
  const Machine m = machine_of(steps, hpl);
  const auto n = run["n"].get<double>();
  const Floors floors = factorization_floors(n, run["nb"].get<double>(), m, hpl);
  const auto seconds = [&](const char* phase) {
    const ordered_json& all = run["phases"];
    return all.contains(phase) ? all[phase]["average"].get<double>() : 0.0;
  };
  const double entries = n * n;
  const double solves = hpl ? 1 : run["refinement"]["iterations"].get<double>();
  ordered_json lines = {line("update", seconds("update"), floors.update),
                        line("panel", seconds("panel"), floors.panel),
                        line("rows", seconds("rows"), floors.rows),
                        line("broadcast_exposed", seconds("broadcast_exposed"), 0)};
  // Every run has some time outside of the update: the first panel and the last ones.
  lines.push_back(
      line(outside, std::max(run["lu"]["seconds"].get<double>() - seconds("update"), 0.0), 0));
  lines.push_back(line("solves", seconds("solves"), solves * entries * (hpl ? 8 : 4) / m.read));
  if (!hpl) lines.push_back(line("residuals", seconds("residuals"), solves * entries / m.generate));
  const std::string first = look_first(lines);
  return {{"name", hpl ? "HPL" : "HPL-MxP"},
          {"n", run["n"]},
          {"nb", run["nb"]},
          {"reserve", run.value("reserved_multiprocessors", ordered_json())},
          {"time_seconds", run["time_seconds"]},
          {"phases", lines},
          {"look_first", first}};
}

}  // namespace speedwell::gpu_check
