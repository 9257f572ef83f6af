// SPDX-License-Identifier: BSD-3-Clause
#include "report/compare_plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "core/expects.hpp"
#include "io/gnuplot.hpp"

namespace speedwell {

namespace {

constexpr std::size_t named_lines = 8;
/// Colours of the solvers in their order, of whom there are at most eight. Readers who are
/// colour-blind can tell them apart too.
constexpr std::array<std::string_view, named_lines> colours{
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#8c510a"};
constexpr std::string_view grey = "#a0a0a0";

/// A solver's curve: its best rates.
struct Curve {
  std::string title;
  std::string ceiling;                   ///< name of the ceiling that bounds it
  std::map<std::int64_t, double> rates;  ///< by n
};

/// A ceiling's line: its best rate over all n.
struct CeilingLine {
  std::string name;
  double rate = 0;
  std::string_view colour = grey;
  std::size_t bounds = 0;  ///< number of curves that it bounds
  std::size_t first = 0;   ///< index of the first curve that it bounds
};

/// The line with this name, which is added at the end if there is none.
template <class Line>
Line& named(std::vector<Line>& all, std::string Line::*name, const std::string& value) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Line& one) { return one.*name == value; });
  if (found != all.end()) return *found;
  all.emplace_back().*name = value;
  return all.back();
}

/// All curves, in the order in which solvers first appear, with the best rate for each n.
std::vector<Curve> curves(const std::vector<Comparison>& all) {
  std::vector<Curve> curves;
  for (const Comparison& comparison : all)
    for (const ComparedSolver& one : comparison.solvers) {
      const double rate = statistics(rates(one, comparison)).best;
      if (!(rate > 0)) continue;
      Curve& curve = named(curves, &Curve::title, title(one));
      curve.ceiling = one.ceiling;
      double& best = curve.rates[comparison.n];
      best = std::max(best, rate);
    }
  return curves;
}

/// All ceilings, those that bound most curves first. Ceilings that bound as many are in the order
/// of the first curves that they bound.
std::vector<CeilingLine> levels(const std::vector<Comparison>& all,
                                const std::vector<Curve>& curves) {
  std::vector<CeilingLine> levels;
  for (const Comparison& comparison : all)
    for (const Ceiling& one : comparison.ceilings) {
      if (one.unit != "GFLOP/s" || one.rates.empty()) continue;
      CeilingLine& level = named(levels, &CeilingLine::name, one.name);
      level.rate = std::max(level.rate, statistics(one.rates).best);
    }
  for (CeilingLine& level : levels)
    for (std::size_t i = 0; i < curves.size(); ++i)
      if (curves[i].ceiling == level.name && level.bounds++ == 0) {
        level.colour = plot_colour(i);
        level.first = i;
      }
  std::stable_sort(levels.begin(), levels.end(), [](const CeilingLine& a, const CeilingLine& b) {
    return a.bounds != b.bounds ? a.bounds > b.bounds : a.first < b.first;
  });
  return levels;
}

/// gnuplot's list of ticks at the orders. An order whose label would touch another one has a short
/// tick without a label; the smallest and the largest order always have labels.
std::string ticks(const std::set<std::int64_t>& orders) {
  constexpr double width = 530;  // of the axis, in the picture's units
  constexpr double digit = 10;   // width of a digit
  const double span = 2 * std::log2(1.25) + std::log2(static_cast<double>(*orders.rbegin()) /
                                                      static_cast<double>(*orders.begin()));
  const auto apart = [&](std::int64_t a, std::int64_t b) {
    const auto digits = static_cast<double>(fmt::formatted_size("{}{}", a, b)) / 2 + 1;
    return std::log2(static_cast<double>(b) / static_cast<double>(a)) / span * width >=
           digits * digit;
  };
  std::vector<std::string> all;
  std::int64_t before = 0;
  for (const std::int64_t n : orders) {
    const bool end = n == *orders.begin() || n == *orders.rbegin();
    const bool labelled = end || (apart(before, n) && apart(n, *orders.rbegin()));
    all.push_back(labelled ? fmt::format("{}", n) : fmt::format("'' {} 1", n));
    if (labelled) before = n;
  }
  return fmt::format("{}", fmt::join(all, ", "));
}

std::string axes(const std::vector<Comparison>& all) {
  std::set<std::int64_t> orders;
  for (const Comparison& comparison : all) orders.insert(comparison.n);
  const char* unit = all.front().gallery ? "GFLOP/s" : "GFLOP/s (dashed: ceilings)";
  std::string text = fmt::format("set xlabel 'N'\nset ylabel '{}'\nset yrange [0:*]\n", unit);
  if (orders.size() > 1) text += "set logscale x 2\n";
  text += fmt::format("set xtics norotate ({})\n", ticks(orders));
  return text + fmt::format("set xrange [{}:{}]\n", 0.8 * static_cast<double>(*orders.begin()),
                            1.25 * static_cast<double>(*orders.rbegin()));
}

}  // namespace

std::string_view plot_colour(std::size_t entry) {
  return colours[entry % colours.size()];
}

std::string plot_script(const std::vector<Comparison>& all, const std::string& heading) {
  SPEEDWELL_EXPECTS(!all.empty());
  std::string text =
      "set terminal svg size 900,600 dynamic noenhanced background rgb 'white'\n"
      "set key outside right noenhanced\nset grid\n";
  text += fmt::format("set title {}\n", gnuplot_string(heading)) + axes(all);
  std::vector<std::string> lines;
  const std::vector<Curve> reached = curves(all);
  for (const Curve& one : reached) {
    const std::size_t i = lines.size();
    text += fmt::format("$data{} << END\n", i);
    for (const auto& [n, rate] : one.rates) text += fmt::format("{} {:.3f}\n", n, rate);
    text += "END\n";
    lines.push_back(fmt::format("$data{} with linespoints linewidth 2 linecolor rgb '{}' title {}",
                                i, plot_colour(i), gnuplot_string(one.title)));
  }
  for (const CeilingLine& one : levels(all, reached)) {
    const bool has_name = lines.size() < named_lines;
    if (one.bounds == 0 && !has_name) continue;
    const std::string name = gnuplot_string(fmt::format("{} {:.0f}", one.name, one.rate));
    lines.push_back(fmt::format("{:.3f} with lines linewidth 1.5 dashtype 2 linecolor rgb '{}' {}",
                                one.rate, one.colour, has_name ? "title " + name : "notitle"));
  }
  return text + fmt::format("plot {}\n", fmt::join(lines, ", \\\n  "));
}

std::string digits_plot_script(const std::vector<Comparison>& all, const std::string& heading) {
  SPEEDWELL_EXPECTS(!all.empty());
  std::string text =
      "set terminal svg size 900,600 dynamic noenhanced background rgb 'white'\n"
      "set key outside right noenhanced\nset grid\n"
      "set xlabel 'correct decimal digits of x'\nset xrange [0:17]\n"
      "set ylabel 'seconds'\nset logscale y\n";
  text += fmt::format("set title {}\n", gnuplot_string(heading));
  std::vector<std::string> titles;
  std::map<std::string, std::string> points;
  for (const Comparison& comparison : all)
    for (const ComparedSolver& one : comparison.solvers) {
      if (std::ranges::find(titles, title(one)) == titles.end()) titles.push_back(title(one));
      if (!one.skipped.empty() || !one.passed()) continue;
      const Turn& turn = fastest_turn(one);
      points[title(one)] +=
          fmt::format("{:.2f} {:.6g} {}\n", digits(known_error(turn)), turn.seconds, comparison.n);
    }
  std::vector<std::string> lines;
  for (const std::string& one : titles) {
    if (points[one].empty()) continue;
    const std::size_t i = lines.size();
    text += fmt::format("$data{} << END\n{}END\n", i, points[one]);
    lines.push_back(
        fmt::format("$data{} with points pointtype {} pointsize 1.5 linecolor rgb '{}' title {}", i,
                    i % 7 + 4, plot_colour(i), gnuplot_string(one)));
    if (all.size() > 1)
      lines.push_back(fmt::format("$data{} using 1:2:3 with labels offset 0,0.8 notitle", i));
  }
  if (lines.empty()) return text + "plot 1 notitle with lines linecolor rgb 'white'\n";
  return text + fmt::format("plot {}\n", fmt::join(lines, ", \\\n  "));
}

}  // namespace speedwell
