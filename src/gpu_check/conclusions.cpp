// SPDX-License-Identifier: BSD-3-Clause
#include "conclusions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "floors.hpp"
#include "products.hpp"

namespace speedwell::gpu_check {

namespace {

using nlohmann::ordered_json;

const ordered_json* result_of(const ordered_json& step, const std::string& name) {
  if (step["step"] != name || step["verdict"] != "passed") return nullptr;
  const auto found = step.find("result");
  return found == step.end() || !found->is_object() ? nullptr : &*found;
}

/// The run of cuSOLVER's IRSXgesv with the largest n; null if there is none.
const ordered_json* largest_irs(const ordered_json& steps) {
  const ordered_json* best = nullptr;
  for (const ordered_json& step : steps) {
    const ordered_json* result = result_of(step, "cusolver");
    if (result == nullptr || result->value("method", "") != "irs") continue;
    if (best == nullptr || (*result)["n"] > (*best)["n"]) best = result;
  }
  return best;
}

double tflops(const ordered_json& rate) {
  return rate.get<double>() * giga / tera;
}

/// The rate of LU as a share of the product's rate, scaled to the clock of the run.
ordered_json share_at_clock(double lu, const Rate& product, double run_mhz) {
  if (product.value <= 0 || product.sm_mhz <= 0 || run_mhz <= 0) return nullptr;
  return lu / (product.value * run_mhz / product.sm_mhz);
}

ordered_json row_of(const ordered_json& run, const char* benchmark, const Rate& product,
                    const ordered_json* irs) {
  const bool mxp = std::string_view(benchmark) == "mxp";
  const double score = tflops(run["gflops"]);
  const double lu = tflops(run["lu"]["gflops"]);
  const double mhz = median_mhz(run);
  ordered_json row = {{"benchmark", benchmark},
                      {"n", run["n"]},
                      {"nb", run["nb"]},
                      {"reserve", run.value("reserved_multiprocessors", ordered_json())},
                      {"score_tflops", score},
                      {"lu_tflops", lu},
                      {"sm_mhz", mhz > 0 ? ordered_json(mhz) : ordered_json()},
                      {"refinement_share", nullptr},
                      {"share_of_product", nullptr},
                      {"share_of_product_at_clock", share_at_clock(lu, product, mhz)},
                      {"ratio_to_irs", nullptr}};
  if (mxp)
    row["refinement_share"] =
        run["refinement"]["seconds"].get<double>() / run["time_seconds"].get<double>();
  if (product.value > 0) row["share_of_product"] = score / product.value;
  if (mxp && irs != nullptr && (*irs)["n"] == run["n"])
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

/// The largest value of a column among a benchmark's rows with n >= least_n; null if there is none.
ordered_json best_of(const ordered_json& rows, const char* benchmark, const std::string& column,
                     std::int64_t least_n = 0) {
  ordered_json best;
  for (const ordered_json& row : rows)
    if (row["benchmark"] == benchmark && row["n"] >= least_n && row[column].is_number() &&
        (best.is_null() || row[column] > best))
      best = row[column];
  return best;
}

/// The share of the refinement in the runs of the largest n; the least where there are several.
ordered_json refinement_at_largest(const ordered_json& rows) {
  ordered_json share;
  ordered_json largest = 0;
  for (const ordered_json& row : rows) {
    if (row["benchmark"] != "mxp" || row["n"] < largest) continue;
    const bool larger = row["n"] > largest;
    largest = row["n"];
    if (larger || row["refinement_share"] < share) share = row["refinement_share"];
  }
  return share;
}

/// The fastest run among those of the largest n; null if there is none.
const ordered_json* fastest_of_largest(const ordered_json& steps, const char* benchmark) {
  const ordered_json* best = nullptr;
  for (const ordered_json& step : steps) {
    const ordered_json* run = result_of(step, benchmark);
    if (run == nullptr) continue;
    if (best == nullptr || (*run)["n"] > (*best)["n"] ||
        ((*run)["n"] == (*best)["n"] && (*run)["gflops"] > (*best)["gflops"]))
      best = run;
  }
  return best;
}

ordered_json phases(const ordered_json& steps) {
  ordered_json all = ordered_json::array();
  for (const char* benchmark : {"mxp", "hpl"})
    if (const ordered_json* run = fastest_of_largest(steps, benchmark);
        run != nullptr && run->contains("phases"))
      all.push_back(phases_of(*run, std::string_view(benchmark) == "hpl", steps));
  return all;
}

}  // namespace

ordered_json conclusions(const ordered_json& steps) {
  return {{"table", table(steps)},
          {"phases", phases(steps)},
          {"goals", goals(steps)},
          {"products", products(steps)}};
}

ordered_json table(const ordered_json& steps) {
  ordered_json rows = ordered_json::array();
  const ordered_json* irs = largest_irs(steps);
  for (const auto& [benchmark, precision] : {std::pair{"mxp", "fp16"}, std::pair{"hpl", "fp64"}}) {
    const Rate product = fastest_rate(steps, "product", precision);
    for (const ordered_json& step : steps)
      if (const ordered_json* run = result_of(step, benchmark))
        rows.push_back(row_of(*run, benchmark, product, irs));
  }
  return rows;
}

ordered_json goals(const ordered_json& steps) {
  const ordered_json rows = table(steps);
  const ordered_json refinement = refinement_at_largest(rows);
  const ordered_json share = best_of(rows, "mxp", "share_of_product");
  const ordered_json score = best_of(rows, "mxp", "score_tflops", 165000);
  const ordered_json ratio = best_of(rows, "mxp", "ratio_to_irs");
  const ordered_json hpl = best_of(rows, "hpl", "score_tflops");
  const ordered_json best_score = best_of(rows, "mxp", "score_tflops");
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
      fmt::format("{:>9} {:>8} {:>6} {:>8} {:>9} {:>9} {:>7} {:>12} {:>10} {:>9} {:>10}\n",
                  "benchmark", "n", "nb", "reserve", "TFLOP/s", "LU", "SM MHz", "refinement %",
                  "of product", "at clock", "x IRSXgesv");
  for (const ordered_json& row : rows)
    text +=
        fmt::format("{:>9} {:>8} {:>6} {:>8} {:>9} {:>9} {:>7} {:>12} {:>10} {:>9} {:>10}\n",
                    row["benchmark"].get<std::string>(), row["n"].dump(), row["nb"].dump(),
                    row["reserve"].dump(), number(row["score_tflops"], 2),
                    number(row["lu_tflops"], 2), number(row["sm_mhz"], 0),
                    number(row["refinement_share"], 2, 100), number(row["share_of_product"], 3),
                    number(row["share_of_product_at_clock"], 3), number(row["ratio_to_irs"], 2));
  return text +
         "of product: score over the fastest FP16 (HPL: FP64) product; at clock: LU over that "
         "product at the clock of the run\n";
}

std::string phases_text(const ordered_json& runs) {
  std::string text;
  for (const ordered_json& run : runs) {
    text += fmt::format("{}, n = {}, nb {}: {} s\n{:>24} {:>9} {:>9} {:>7}\n",
                        run["name"].get<std::string>(), run["n"].dump(), run["nb"].dump(),
                        number(run["time_seconds"], 2), "", "s", "floor", "ratio");
    for (const ordered_json& phase : run["phases"])
      text += fmt::format("{:>24} {:>9} {:>9} {:>7}\n", phase["phase"].get<std::string>(),
                          number(phase["seconds"], 3), number(phase["floor_seconds"], 3),
                          number(phase["ratio"], 2));
    text += fmt::format("look first at: {}\n", run["look_first"].get<std::string>());
  }
  return text;
}

std::string goals_text(const ordered_json& all) {
  std::string text;
  for (const ordered_json& one : all)
    text += fmt::format("{:<12}  {} ({})\n", one["verdict"].get<std::string>(),
                        one["goal"].get<std::string>(), number(one["value"], 3));
  return text;
}

}  // namespace speedwell::gpu_check
