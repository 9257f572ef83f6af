// SPDX-License-Identifier: BSD-3-Clause
#include "report/compare_json.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/expects.hpp"
#include "core/matrix_traits.hpp"
#include "core/option_text.hpp"
#include "document/option_json.hpp"
#include "document/report_parts.hpp"
#include "document/sensor_text.hpp"
#include "host/blas_library.hpp"
#include "host/processor.hpp"
#include "report/level_report.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

ordered_json best_and_median(const std::vector<double>& values) {
  const Statistics both = statistics(values);
  return {{"best", number_or_null(both.best, !values.empty())},
          {"median", number_or_null(both.median, !values.empty())}};
}

ordered_json accuracy_of(const std::optional<AccuracyResult>& result) {
  if (!result) return {};
  const bool found = !std::isnan(result->error);
  return {{"error", number_or_null(result->error)},
          {"digits", number_or_null(digits(result->error), found)},
          {"bound", number_or_null(result->bound)},
          {"condition", number_or_null(result->condition)}};
}

ordered_json turn_of(const Turn& turn, const Comparison& all) {
  return {{"seconds", number_or_null(turn.seconds, turn.seconds > 0)},
          {"refine_seconds", number_or_null(turn.refine_seconds)},
          {"check_seconds", number_or_null(turn.check_seconds)},
          {"steps", json_of(turn.steps)},
          {"scaled_residual", number_or_null(turn.scaled_residual)},
          {"passed", turn.passed()},
          {"failure", text_or_null(turn.failure)},
          {"note", text_or_null(turn.note)},
          {"level", json_of(turn.level)},
          {"accuracy", accuracy_of(turn.accuracy)},
          {"energy", turn.sensors ? json_of(turn.sensors->energy, all.flops()) : ordered_json()},
          {"monitor", turn.sensors ? json_of_monitors(turn.sensors->monitors) : ordered_json()}};
}

ordered_json solver_json(const ComparedSolver& one, const Comparison& all) {
  const double ratio = ratio_to_dgesv(one, all);
  const double share = share_of_ceiling(one, all);
  const bool measured = one.skipped.empty() && one.passed();
  ordered_json result = {
      {"solver", solver_name(one.solver, one.field)},
      {"level", one.level ? ordered_json(traits(*one.level).name) : ordered_json()},
      {"accuracy", one.accuracy ? ordered_json(option_text(*one.accuracy)) : ordered_json()},
      {"precision", name(one.precision)},
      {"lu_bytes", number_or_null(one.lu_bytes)},
      {"nb", one.nb > 0 ? ordered_json(one.nb) : ordered_json(nullptr)},
      {"ranks", one.ranks},
      {"threads", one.threads},
      {"gflops", best_and_median(rates(one, all))},
      {"seconds", measured ? number_or_null(fastest_turn(one).seconds) : nullptr},
      {"median_seconds", number_or_null(median_seconds(one), measured)},
      {"over_dgesv", number_or_null(ratio, ratio > 0)},
      {"ceiling", all.gallery ? nullptr : ordered_json(one.ceiling)},
      {"share_of_ceiling", number_or_null(share, share > 0)},
      {"refinement_share", number_or_null(refinement_share(one), measured)},
      {"check_share", number_or_null(check_share(one), measured)},
      {"scaled_residual", measured ? number_or_null(fastest_turn(one).scaled_residual) : nullptr},
      {"passed", one.skipped.empty() ? ordered_json(one.passed()) : ordered_json(nullptr)},
      {"skipped", text_or_null(one.skipped)},
      {"turns", ordered_json::array()}};
  for (const Turn& turn : one.turns) result["turns"].push_back(turn_of(turn, all));
  return result;
}

ordered_json ceiling_of(const Ceiling& one) {
  return {{"name", one.name},
          {"unit", one.unit},
          {"rate", best_and_median(one.rates)},
          {"best_shape", text_or_null(one.best_shape)},
          {"best_shape_rate", number_or_null(one.best_shape_rate, one.best_shape_rate > 0)},
          {"ranks", one.ranks},
          {"threads", one.threads},
          {"bounds", one.bounds},
          {"failure", text_or_null(one.failure)}};
}

ordered_json order_of(const Comparison& comparison) {
  ordered_json result = {{"n", comparison.n},
                         {"right_hand_sides", comparison.rhs},
                         {"passed", comparison.passed()},
                         {"solvers", ordered_json::array()},
                         {"ceilings", ordered_json::array()}};
  for (const ComparedSolver& one : comparison.solvers)
    result["solvers"].push_back(solver_json(one, comparison));
  for (const Ceiling& one : comparison.ceilings) result["ceilings"].push_back(ceiling_of(one));
  return result;
}

}  // namespace

ordered_json json_of_comparisons(const Setup& setup, const std::vector<Comparison>& all, int rounds,
                                 std::time_t begin, const std::string& command_line,
                                 const std::vector<std::string>& notes) {
  SPEEDWELL_EXPECTS(!all.empty());
  const BenchmarkOptions& o = setup.options;
  const std::optional<GalleryKind> gallery = all.front().gallery;
  ordered_json document = json_origin("compare", begin, setup.machine.hosts, command_line);
  document.update({{"rounds", rounds},
                   {"matrix", gallery ? name(*gallery) : name(o.matrix)},
                   {"seed", o.seed},
                   {"ranks", setup.machine.hosts.size()}});
  document.update(json_of_options(o.run));
  for (const char* chosen_by_each : {"nb", "lookahead", "chunk"}) document.erase(chosen_by_each);
  document.update({{"device_description", setup.machine.device},
                   {"processor", processor_model()},
                   {"blas", blas_description()}});
  if (!gallery && traits_of(o.matrix).tunable)
    document.update({{"kappa", o.kappa}, {"rho", o.rho}});
  document["notes"] = setup.notes;
  for (const std::string& note : notes) document["notes"].push_back(note);
  document["passed"] =
      std::all_of(all.begin(), all.end(), [](const Comparison& one) { return one.passed(); });
  for (const Comparison& one : all) document["orders"].push_back(order_of(one));
  return document;
}

}  // namespace speedwell
