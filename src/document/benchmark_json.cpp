// SPDX-License-Identifier: BSD-3-Clause
#include "document/benchmark_json.hpp"
#include "io/text.hpp"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "core/expects.hpp"
#include "core/matrix_traits.hpp"
#include "core/numbers.hpp"
#include "document/benchmark_report.hpp"
#include "document/option_json.hpp"
#include "document/report_parts.hpp"
#include "document/sensor_text.hpp"
#include "setup/footprint.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

ordered_json phases(const Setup& setup, const BenchmarkResult& r) {
  const auto phase = [&](const PhaseTime& time) {
    return ordered_json{
        {"average", time.average},
        {"maximum", time.maximum},
        {"slowest_rank", time.slowest_rank},
        {"slowest_host", setup.machine.hosts[static_cast<std::size_t>(time.slowest_rank)]}};
  };
  ordered_json all = {{"panel", phase(r.panel)},
                      {"rows", phase(r.rows)},
                      {"broadcast_exposed", phase(r.broadcast)},
                      {"update", phase(r.update)},
                      {"solves", phase(r.solves)}};
  if (r.chosen.benchmark == Benchmark::mxp) all["residuals"] = phase(r.residuals);
  return all;
}

/// The refinement (HPL: the solve) after the factorization.
ordered_json solution(const BenchmarkResult& r) {
  if (r.chosen.benchmark == Benchmark::hpl) return {{"solve", {{"seconds", r.refine_seconds}}}};
  return {{"refinement",
           {{"seconds", r.refine_seconds},
            {"method", name(r.method)},
            {"iterations", r.iterations},
            {"history", r.history}}}};
}

ordered_json outcome(const Setup& setup, const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  std::vector<std::string> notes = r.notes;
  if (!r.factored()) notes.push_back(no_factors(r));
  ordered_json all;
  if (run.paper)
    all["predicted"] = {{"machine", run.paper->machine},
                        {"validation", text_or_null(run.paper->validation)},
                        {"numbers", run.paper->numbers},
                        {"corrections", run.paper->corrections}};
  all.update({{"start", utc_text(run.begin)},
              {"end", utc_text(run.end)},
              {"time_seconds", r.seconds},
              {"gflops", r.gflops},
              {"lu", {{"seconds", r.lu_seconds}, {"gflops", r.lu_gflops}}}});
  all.update(solution(r));
  all.update({{"phases", phases(setup, r)},
              {"memory_peak", json_of(run.peak, setup.machine.hosts)},
              {"large_pages_bytes", number_or_null(run.large_pages, true)},
              {"update_rates", run.update_rates},
              {"energy", run.sensors ? json_of(run.sensors->energy, benchmark_flops(r.chosen.n))
                                     : ordered_json()},
              {"monitor", run.sensors ? json_of_monitors(run.sensors->monitors) : ordered_json()},
              {"norms",
               {{"A_inf", number_or_null(r.norms.a)},
                {"x_inf", number_or_null(r.norms.x)},
                {"b_inf", number_or_null(r.norms.b)},
                {"residual_inf", number_or_null(r.norms.residual)}}},
              {"scaled_residual", number_or_null(r.scaled_residual)},
              {"bad_pivot", index_or_null(r.bad_pivot)},
              {"passed", r.passed},
              {"admissible", r.admissible},
              {"notes", notes}});
  return all;
}

/// The sources of a run's precision and tuning: given by the user, rates, a profile, or the table
/// of defaults.
ordered_json sources(const Setup& setup) {
  const Reasons& why = setup.reasons;
  const auto source = [](const std::string& reason) { return reason.empty() ? "given" : reason; };
  return {{"precision", source(why.precision)},
          {"nb", source(why.nb)},
          {"lookahead", source(why.lookahead)},
          {"chunk", source(why.chunk)}};
}

/// All options that have an effect on this run.
ordered_json applicable(const BenchmarkOptions& o) {
  ordered_json all = json_of_options(o);
  const auto drop = [&](std::initializer_list<const char*> names) {
    for (const char* one : names) all.erase(one);
  };
  drop({"benchmark"});  // stands at the top of the document
  if (!traits_of(o.matrix).tunable) drop({"kappa", "rho"});
  if (o.pivoting == Pivoting::none) drop({"nbmin", "ndiv"});
  if (o.benchmark == Benchmark::hpl) drop({"refine", "max_iterations"});
  return all;
}

ordered_json choices(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  ordered_json chosen = applicable(o);
  chosen["panel_width"] = setup.lu.width;
  chosen["ranks"] = setup.machine.hosts.size();
  chosen["variant"] = variant(o);
  chosen["sources"] = sources(setup);
  chosen["asked"] = json_of_asked(setup.asked);
  chosen["device_description"] = setup.machine.device;
  chosen["fp64_products"] = text_or_null(setup.machine.fp64);
  chosen.erase("gpus");
  if (!setup.machine.gpus.empty()) {
    chosen["gpus"] = setup.machine.gpus;
    chosen["rank_hosts"] = setup.machine.hosts;
    chosen["reserved_multiprocessors"] = index_or_null(o.run.reserve);
  }
  chosen["memory"] = {{"needed_per_rank_bytes", static_cast<std::int64_t>(rank_bytes(setup.lu))},
                      {"free_per_rank_bytes", static_cast<std::int64_t>(setup.budget.rank_free)},
                      {"free_shared_bytes", static_cast<std::int64_t>(setup.budget.shared_free)},
                      {"ranks_sharing", setup.budget.sharing},
                      {"host", setup.budget.host},
                      {"bound", setup.budget.bound}};
  return chosen;
}

ordered_json choices_and_outcome(const Setup& setup, const BenchmarkRun& run) {
  ordered_json all = choices(setup);
  all.update(outcome(setup, run));
  return all;
}

ordered_json json_of_products(const std::vector<ProductChoice>& products) {
  ordered_json all = ordered_json::array();
  for (const ProductChoice& one : products)
    all.push_back({{"reading", one.reading},
                   {"m", one.m},
                   {"n", one.n},
                   {"k", one.k},
                   {"multiprocessors",
                    one.multiprocessors > 0 ? ordered_json(one.multiprocessors) : ordered_json()},
                   {"confined", one.confined},
                   {"algorithm", one.algorithm},
                   {"kernel", text_or_null(one.kernel)},
                   {"blocks", index_or_null(one.blocks)},
                   {"milliseconds", number_or_null(one.milliseconds, one.milliseconds >= 0)},
                   {"refused", text_or_null(one.refused)}});
  return all;
}

ordered_json json_of_variants(const std::vector<VariantChoice>& variants) {
  ordered_json all = ordered_json::array();
  for (const VariantChoice& one : variants)
    all.push_back(
        {{"operation", one.operation},
         {"size", one.size},
         {"taken", one.few ? "few" : "many"},
         {"from_vectors", one.few ? ordered_json(one.least_vectors) : ordered_json()},
         {"few_milliseconds", number_or_null(one.few_milliseconds, one.few_milliseconds >= 0)},
         {"many_milliseconds", number_or_null(one.many_milliseconds, one.many_milliseconds >= 0)},
         {"why", text_or_null(one.why)}});
  return all;
}

/// Hosts of the configuration with the most ranks. Any other configuration runs on the first of
/// these ranks.
const std::vector<std::string>& all_hosts(const std::vector<Measured>& all) {
  const auto fewer = [](const Measured& a, const Measured& b) {
    return a.setup.machine.hosts.size() < b.setup.machine.hosts.size();
  };
  return std::max_element(all.begin(), all.end(), fewer)->setup.machine.hosts;
}

}  // namespace

ordered_json json_report(const std::vector<Measured>& all, const std::string& command_line,
                         const std::vector<std::string>& notes, int planned) {
  SPEEDWELL_EXPECTS(!all.empty() && !all.front().runs.empty());
  const Measured& first = all.front();
  SPEEDWELL_EXPECTS(std::all_of(all.begin(), all.end(), [&](const Measured& one) {
    return one.setup.options.benchmark == first.setup.options.benchmark;
  }));
  ordered_json document = json_origin(name(first.setup.options.benchmark), first.runs.front().begin,
                                      all_hosts(all), command_line);
  const Representative shown = representative(all);
  document.update(choices_and_outcome(shown.setup, shown.run));
  for (const std::string& note : notes) document["notes"].push_back(note);
  if (!shown.run.products.empty()) document["products"] = json_of_products(shown.run.products);
  if (!shown.run.variants.empty()) document["gpu_kernels"] = json_of_variants(shown.run.variants);
  if (planned > 0) document["runs_planned"] = planned;
  for (const Measured& measured : all)
    for (const BenchmarkRun& run : measured.runs)
      document["runs"].push_back(all.size() == 1 ? outcome(measured.setup, run)
                                                 : choices_and_outcome(measured.setup, run));
  return document;
}

ordered_json json_of_both(const Measured& mxp, const Measured* hpl, const std::string& command_line,
                          const std::vector<std::string>& notes, int planned) {
  ordered_json document =
      json_origin("bench", mxp.runs.front().begin, mxp.setup.machine.hosts, command_line);
  document["mxp"] = json_report({mxp}, command_line, notes, planned);
  document["hpl"] = hpl ? json_report({*hpl}, command_line, notes, planned) : ordered_json();
  const double faster =
      hpl ? speedup(representative({mxp}).run, representative({*hpl}).run) : unknown;
  document["speedup"] = number_or_null(faster, faster > 0);
  document["passed"] =
      hpl && document["mxp"]["passed"] == true && document["hpl"]["passed"] == true;
  return document;
}

}  // namespace speedwell
