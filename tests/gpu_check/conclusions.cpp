#include "conclusions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace lupine::gpu_check {

namespace {

using nlohmann::ordered_json;

constexpr double tera = 1e12;
constexpr double giga = 1e9;

const ordered_json* result_of(const ordered_json& step, const std::string& name) {
  if (step["step"] != name || step["verdict"] != "passed") return nullptr;
  const auto found = step.find("result");
  return found == step.end() || !found->is_object() ? nullptr : &*found;
}

/// The run of IRSXgesv of the largest n; null if there is none.
const ordered_json* largest_irs(const ordered_json& steps) {
  const ordered_json* best = nullptr;
  for (const ordered_json& step : steps) {
    const ordered_json* result = result_of(step, "cusolver");
    if (result == nullptr || result->value("method", "") != "irs") continue;
    if (best == nullptr || (*result)["n"] > (*best)["n"]) best = result;
  }
  return best;
}

ordered_json row_of(const ordered_json& mxp, double ceiling, const ordered_json* irs) {
  const double score = mxp["gflops"].get<double>() * giga / tera;
  ordered_json row = {{"n", mxp["n"]},
                      {"nb", mxp["nb"]},
                      {"reserve", mxp.value("reserved_multiprocessors", ordered_json())},
                      {"score_tflops", score},
                      {"lu_tflops", mxp["lu"]["gflops"].get<double>() * giga / tera},
                      {"refinement_share", mxp["refinement"]["seconds"].get<double>() /
                                               mxp["time_seconds"].get<double>()},
                      {"share_of_fp16_product", nullptr},
                      {"ratio_to_irs", nullptr}};
  if (ceiling > 0) row["share_of_fp16_product"] = score / ceiling;
  if (irs != nullptr && (*irs)["n"] == mxp["n"])
    row["ratio_to_irs"] = score / (*irs)["tflops"].get<double>();
  return row;
}

std::string number(const ordered_json& value, int digits, double unit = 1) {
  if (!value.is_number()) return "-";
  return fmt::format("{:.{}f}", value.get<double>() * unit, digits);
}

ordered_json goal(const std::string& words, const ordered_json& value, bool reached) {
  return {{"goal", words},
          {"value", value},
          {"verdict", value.is_null() ? "not measured" : (reached ? "reached" : "not reached")}};
}

/// The largest value of a column among the rows of at least so large n; null if there is none.
ordered_json best_of(const ordered_json& rows, const std::string& column, std::int64_t least_n) {
  ordered_json best;
  for (const ordered_json& row : rows)
    if (row["n"] >= least_n && row[column].is_number() && (best.is_null() || row[column] > best))
      best = row[column];
  return best;
}

/// The fastest run of a step, TFLOP/s; null if there is none.
ordered_json fastest(const ordered_json& steps, const std::string& name) {
  ordered_json best;
  for (const ordered_json& step : steps) {
    const ordered_json* result = result_of(step, name);
    if (result == nullptr) continue;
    const double rate = (*result)["gflops"].get<double>() * giga / tera;
    if (best.is_null() || rate > best.get<double>()) best = rate;
  }
  return best;
}

}  // namespace

double product_rate(const ordered_json& steps, const std::string& precision) {
  double best = 0;
  for (const ordered_json& step : steps) {
    // What a run that was cut off had measured by then counts.
    if (step["step"] != "ceilings" || !step.contains("result")) continue;
    for (const ordered_json& line : step["result"])
      if (line.value("part", "") == "product" && line.value("precision", "") == precision)
        best = std::max(best, line.value("rate", 0.0));
  }
  return best;
}

ordered_json table(const ordered_json& steps) {
  ordered_json rows = ordered_json::array();
  const double ceiling = product_rate(steps, "fp16");
  const ordered_json* irs = largest_irs(steps);
  for (const ordered_json& step : steps)
    for (const char* name : {"mxp", "sweep"})
      if (const ordered_json* mxp = result_of(step, name))
        rows.push_back(row_of(*mxp, ceiling, irs));
  return rows;
}

ordered_json goals(const ordered_json& steps) {
  const ordered_json rows = table(steps);
  ordered_json refinement;
  ordered_json largest = 0;
  for (const ordered_json& row : rows) {
    if (row["n"] < largest) continue;
    // Of several runs of the largest n, the fastest is looked at.
    const bool larger = row["n"] > largest;
    largest = row["n"];
    if (larger || row["refinement_share"] < refinement) refinement = row["refinement_share"];
  }
  const ordered_json share = best_of(rows, "share_of_fp16_product", 0);
  const ordered_json score = best_of(rows, "score_tflops", 165000);
  const ordered_json ratio = best_of(rows, "ratio_to_irs", 0);
  const ordered_json hpl = fastest(steps, "hpl");
  const ordered_json best_score = best_of(rows, "score_tflops", 0);
  ordered_json speedup;
  if (hpl.is_number() && best_score.is_number())
    speedup = best_score.get<double>() / hpl.get<double>();
  const auto at_least = [](const ordered_json& value, double bound) {
    return value.is_number() && value.get<double>() >= bound;
  };
  return {
      goal("score at least 0.88 of the FP16 product rate of the same run", share,
           at_least(share, 0.88)),
      goal("at least 600 TFLOP/s at n >= 165000", score, at_least(score, 600)),
      goal("refinement at most 0.02 of the time at the largest n", refinement,
           refinement.is_number() && refinement.get<double>() <= 0.02),
      goal("at least 2 times IRSXgesv at its largest n", ratio, at_least(ratio, 2)),
      goal("FP64 HPL at least 50 TFLOP/s", hpl, at_least(hpl, 50)),
      goal("HPL-MxP at least 11 times FP64 HPL", speedup, at_least(speedup, 11)),
  };
}

std::string table_text(const ordered_json& rows) {
  std::string text =
      fmt::format("{:>8} {:>6} {:>8} {:>9} {:>9} {:>12} {:>13} {:>10}\n", "n", "nb", "reserve",
                  "TFLOP/s", "LU", "refinement %", "of FP16 rate", "x IRSXgesv");
  for (const ordered_json& row : rows)
    text += fmt::format("{:>8} {:>6} {:>8} {:>9} {:>9} {:>12} {:>13} {:>10}\n", row["n"].dump(),
                        row["nb"].dump(), row["reserve"].dump(), number(row["score_tflops"], 2),
                        number(row["lu_tflops"], 2), number(row["refinement_share"], 2, 100),
                        number(row["share_of_fp16_product"], 3), number(row["ratio_to_irs"], 2));
  return text;
}

std::string goals_text(const ordered_json& all) {
  std::string text;
  for (const ordered_json& one : all)
    text += fmt::format("{:<12}  {} ({})\n", one["verdict"].get<std::string>(),
                        one["goal"].get<std::string>(), number(one["value"], 3));
  return text;
}

}  // namespace lupine::gpu_check
