#include "report/compare_plot.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "core/expects.hpp"

namespace lupine {

namespace {

struct Series {
  std::string title;
  std::map<std::int64_t, double> rates;  ///< by n
};

/// Rates under a title, titles in the order of their first appearance. Of equal n, the best.
void add(std::vector<Series>& all, const std::string& title, std::int64_t n, double rate) {
  auto series =
      std::find_if(all.begin(), all.end(), [&](const Series& one) { return one.title == title; });
  if (series == all.end()) series = all.insert(all.end(), Series{title, {}});
  double& best = series->rates[n];
  best = std::max(best, rate);
}

std::vector<Series> contestants(const std::vector<Comparison>& all) {
  std::vector<Series> series;
  for (const Comparison& comparison : all)
    for (const Contestant& one : comparison.contestants) {
      const double rate = statistics(rates(one, comparison.n)).best;
      if (rate > 0) add(series, title(one), comparison.n, rate);
    }
  return series;
}

/// Of all n together: under n = 0.
std::vector<Series> ceilings(const std::vector<Comparison>& all) {
  std::vector<Series> series;
  for (const Comparison& comparison : all)
    for (const Ceiling& one : comparison.ceilings)
      if (one.unit == "GFLOP/s" && !one.rates.empty())
        add(series, one.name, 0, statistics(one.rates).best);
  return series;
}

/// Within single quotes, where gnuplot knows no other escape.
std::string quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "''" : std::string(1, c);
  return result + "'";
}

std::string axes(const std::vector<Comparison>& all) {
  std::set<std::int64_t> orders;
  for (const Comparison& comparison : all) orders.insert(comparison.n);
  std::string text = "set xlabel 'N'\nset ylabel 'GFLOP/s'\nset yrange [0:*]\n";
  if (orders.size() > 1) text += "set logscale x 2\n";
  text += fmt::format("set xtics ({}) rotate by -45\n", fmt::join(orders, ", "));
  return text + fmt::format("set xrange [{}:{}]\n", 0.8 * static_cast<double>(*orders.begin()),
                            1.25 * static_cast<double>(*orders.rbegin()));
}

}  // namespace

std::string plot_script(const std::vector<Comparison>& all, const std::string& heading) {
  LUPINE_EXPECTS(!all.empty());
  std::string text =
      "set terminal svg size 900,600 dynamic noenhanced background rgb 'white'\n"
      "set key outside right noenhanced\nset grid\n";
  text += fmt::format("set title {}\n", quoted(heading)) + axes(all);
  std::vector<std::string> curves;
  for (const Series& one : contestants(all)) {
    const std::string block = fmt::format("$data{}", curves.size());
    text += block + " << END\n";
    for (const auto& [n, rate] : one.rates) text += fmt::format("{} {:.3f}\n", n, rate);
    text += "END\n";
    curves.push_back(
        fmt::format("{} with linespoints linewidth 2 title {}", block, quoted(one.title)));
  }
  for (const Series& one : ceilings(all))
    curves.push_back(fmt::format("{:.3f} with lines dashtype 2 title {}", one.rates.at(0),
                                 quoted(fmt::format("{} {:.0f}", one.title, one.rates.at(0)))));
  return text + fmt::format("plot {}\n", fmt::join(curves, ", \\\n  "));
}

}  // namespace lupine
