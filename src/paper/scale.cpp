// SPDX-License-Identifier: BSD-3-Clause
#include "paper/scale.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <speedwell/error.hpp>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "document/report_parts.hpp"
#include "io/gnuplot.hpp"
#include "paper/study_parts.hpp"

namespace speedwell::paper {

namespace {

using nlohmann::ordered_json;

constexpr double tera = 1e12;

std::string ranks_list(const std::vector<ScaleRow>& rows) {
  std::vector<int> all;
  all.reserve(rows.size());
  for (const ScaleRow& row : rows) all.push_back(row.ranks);
  return fmt::format("{}", fmt::join(all, ", "));
}

/// A number of the table, or "-" where it is not known.
std::string cell(double value, int width, int digits) {
  return std::isfinite(value) ? fmt::format(" {:>{}.{}f}", value, width, digits)
                              : fmt::format(" {:>{}}", "-", width);
}

std::string row_text(const ScaleRow& row) {
  const Predicted& p = row.predicted;
  const BenchmarkOptions& o = p.chosen;
  std::string text = fmt::format("{:>6}", row.ranks);
  if (!p.refusal.empty()) return fmt::format("{} refused: {}\n", text, p.refusal);
  text += fmt::format(" {:>9} {:>9} {:>6}", fmt::format("{} x {}", o.run.nprow, o.run.npcol), o.n,
                      o.run.nb);
  text += cell(p.lu_seconds, 10, 3) + cell(p.refine_seconds, 9, 3) + cell(row.teraflops, 12, 2) +
          cell(row.a_rank, 9, 3);
  return text + cell(100 * row.lu_efficiency, 7, 1) + cell(100 * row.efficiency, 7, 1) +
         cell(100 * row.weak_efficiency, 7, 1) + "\n";
}

ordered_json row_json(const ScaleRow& row) {
  const Predicted& p = row.predicted;
  const BenchmarkOptions& o = p.chosen;
  ordered_json all = {{"ranks", row.ranks}};
  if (p.refusal.empty())
    all.update({{"nprow", o.run.nprow},
                {"npcol", o.run.npcol},
                {"n", o.n},
                {"nb", o.run.nb},
                {"lookahead", o.run.lookahead},
                {"chunk", o.run.chunk},
                {"bcast", name(o.run.broadcast)},
                {"precision", name(o.precision)}});
  all.update(times_json(p));
  all.update({{"tflops", number_or_null(row.teraflops)},
              {"tflops_per_rank", number_or_null(row.a_rank)},
              {"product_tflops_per_rank", number_or_null(row.product)},
              {"lu_efficiency", number_or_null(row.lu_efficiency)},
              {"efficiency", number_or_null(row.efficiency)},
              {"weak_efficiency", number_or_null(row.weak_efficiency)}});
  if (!p.refusal.empty()) return all;
  const auto phase = [](const PhaseTime& time) {
    return ordered_json{{"average", time.average}, {"maximum", time.maximum}};
  };
  all["phases"] = {{"panel", phase(p.panel)},
                   {"rows", phase(p.rows)},
                   {"broadcast_exposed", phase(p.broadcast)},
                   {"update", phase(p.update)},
                   {"solves", phase(p.solves)},
                   {"residuals", phase(p.residuals)}};
  return all;
}

}  // namespace

std::vector<Case> scale_cases(const Scenario& scenario, const BenchmarkOptions& asked,
                              const std::vector<int>& ranks) {
  const int most = scenario.machine.ranks();
  if (ranks.empty()) throw UsageError("--scale: no numbers of ranks; allowed: 1,8,64 and the like");
  std::vector<Case> cases;
  for (const int count : ranks) {
    if (count < 1 || count > most)
      throw UsageError(fmt::format("--scale {}: {} has {} ranks; allowed: 1 to {}", count,
                                   scenario.machine.name, most, most));
    Case& one = cases.emplace_back(Case{scenario, asked});
    one.scenario.ranks = count;
    const double growth = std::sqrt(static_cast<double>(count) / ranks.front());
    one.options.n = std::max<std::int64_t>(asked.n > 0 ? 1 : 0,
                                           std::llround(static_cast<double>(asked.n) * growth));
  }
  return cases;
}

double product_rate(const DeviceModel& device, const BenchmarkOptions& chosen,
                    std::int64_t panel_width) {
  const auto m = static_cast<double>(ceil_div(chosen.n, chosen.run.nprow));
  const auto n = static_cast<double>(ceil_div(chosen.n, chosen.run.npcol));
  const auto k = static_cast<double>(panel_width);
  const double work = 2 * m * n * k;
  const auto seconds = [&](Precision precision) {
    return device.of(OperationKind::product, precision).seconds(work, m, n, k);
  };
  const bool listed = device.operations.contains({OperationKind::product, chosen.precision});
  if (listed) return work / seconds(chosen.precision);
  // A GPU computes fp16x3 as three products, one after the other.
  const bool split = chosen.precision == Precision::fp16x3 && device.threads == 0;
  return work / (split ? 3 * seconds(Precision::fp16) : seconds(Precision::fp32));
}

std::vector<ScaleRow> scale_rows(const std::vector<Case>& cases,
                                 const std::vector<Predicted>& predicted) {
  SPEEDWELL_EXPECTS(cases.size() == predicted.size());
  std::vector<ScaleRow> rows;
  double first = unknown;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Predicted& p = predicted[i];
    const int ranks = cases[i].scenario.ranks;
    if (!p.refusal.empty()) {
      rows.push_back({ranks, p, unknown, unknown, unknown, unknown, unknown, unknown});
      continue;
    }
    ScaleRow row{ranks, p};
    row.teraflops = p.gflops / 1e3;
    row.a_rank = row.teraflops / ranks;
    row.product = product_rate(cases[i].scenario.device, p.chosen, p.panel_width) / tera;
    row.lu_efficiency = lu_gflops(p) / 1e3 / ranks / row.product;
    row.efficiency = row.a_rank / row.product;
    if (!std::isfinite(first)) first = row.a_rank;
    row.weak_efficiency = row.a_rank / first;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string scale_text(const Scenario& scenario, const BenchmarkOptions& asked,
                       const std::vector<ScaleRow>& rows) {
  std::string text = study_head("weak scaling", scenario, asked, ranks_list(rows));
  text += fmt::format(
      "\nPREDICTED; LU % and score %: of the rate of the update's product alone; weak %: of the "
      "first line\n{:>6} {:>9} {:>9} {:>6} {:>10} {:>9} {:>12} {:>9} {:>7} {:>7} {:>7}\n",
      "ranks", "P x Q", "N", "NB", "LU s",
      asked.benchmark == Benchmark::mxp ? "refine s" : "solve s", "TFLOP/s", "a rank", "LU %",
      "score %", "weak %");
  for (const ScaleRow& row : rows) text += row_text(row);
  return text + "\n";
}

ordered_json scale_json(const Scenario& scenario, const BenchmarkOptions& asked,
                        const std::vector<ScaleRow>& rows) {
  ordered_json document = study_json("scale", scenario, asked);
  document["rows"] = ordered_json::array();
  for (const ScaleRow& row : rows) document["rows"].push_back(row_json(row));
  return document;
}

std::string scale_plot(const Scenario& scenario, const std::vector<ScaleRow>& rows) {
  std::map<int, std::string> points;  // of the curves, by ranks
  for (const ScaleRow& row : rows)
    if (row.predicted.refusal.empty())
      points[row.ranks] = fmt::format("{} {:.4f} {:.4f} {:.4f}\n", row.ranks, row.a_rank,
                                      row.lu_efficiency * row.product, row.product);
  if (points.empty())
    throw UsageError("--plot: every run of --scale was refused, as the table says");
  std::string data;
  std::vector<int> ticks;
  for (const auto& [ranks, point] : points) {
    ticks.push_back(ranks);
    data += point;
  }
  const std::string title = fmt::format("PREDICTED for {}: weak scaling", scenario.machine.name);
  return fmt::format(
      "set terminal svg size 900,600 dynamic noenhanced background rgb 'white'\n"
      "set key outside right noenhanced\nset grid\nset title {}\n"
      "set xlabel 'ranks'\nset ylabel 'TFLOP/s a rank'\nset yrange [0:*]\nset logscale x 2\n"
      "set xtics norotate ({})\nset xrange [{}:{}]\n$data << END\n{}END\n"
      "plot $data using 1:2 with linespoints linewidth 2 linecolor rgb '#0072b2' title 'score', "
      "\\\n"
      "  $data using 1:3 with linespoints linewidth 2 linecolor rgb '#d55e00' title 'LU alone', "
      "\\\n"
      "  $data using 1:4 with lines linewidth 1.5 dashtype 2 linecolor rgb '#a0a0a0' "
      "title 'product alone'\n",
      gnuplot_string(title), fmt::join(ticks, ", "), 0.8 * ticks.front(), 1.25 * ticks.back(),
      data);
}

}  // namespace speedwell::paper
