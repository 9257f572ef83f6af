#include "bench/report_json.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "revision.hpp"

namespace lupine {

namespace {

using nlohmann::ordered_json;

std::string utc(std::time_t time) {
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

std::vector<std::string> nodes(const std::vector<std::string>& hosts) {
  std::vector<std::string> unique;
  for (const std::string& host : hosts)
    if (std::find(unique.begin(), unique.end(), host) == unique.end()) unique.push_back(host);
  return unique;
}

ordered_json phases(const Setup& setup, const BenchmarkResult& r) {
  const auto phase = [&](const PhaseTime& time) {
    return ordered_json{{"average", time.average},
                        {"maximum", time.maximum},
                        {"slowest_rank", time.slowest_rank},
                        {"slowest_host", setup.hosts[static_cast<std::size_t>(time.slowest_rank)]}};
  };
  return {{"panel", phase(r.panel)},
          {"broadcast_exposed", phase(r.broadcast)},
          {"update", phase(r.update)},
          {"solves", phase(r.solves)},
          {"residuals", phase(r.residuals)}};
}

ordered_json outcome(const Setup& setup, const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  return {{"start", utc(run.begin)},
          {"end", utc(run.end)},
          {"time_seconds", r.seconds},
          {"gflops", r.gflops},
          {"lu", {{"seconds", r.lu_seconds}, {"gflops", r.lu_gflops}}},
          {"refinement",
           {{"seconds", r.refine_seconds},
            {"method", name(r.method)},
            {"iterations", r.iterations},
            {"history", r.history}}},
          {"phases", phases(setup, r)},
          {"norms",
           {{"A_inf", r.norms.a},
            {"x_inf", r.norms.x},
            {"b_inf", r.norms.b},
            {"residual_inf", r.norms.residual}}},
          {"scaled_residual", r.scaled_residual},
          {"bad_pivot", r.bad_pivot < 0 ? ordered_json(nullptr) : ordered_json(r.bad_pivot)},
          {"passed", r.passed},
          {"admissible", r.admissible},
          {"notes", r.notes}};
}

ordered_json choices(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  ordered_json chosen = {{"n", o.n},
                         {"nb", o.nb},
                         {"panel_width", setup.panel_width},
                         {"nprow", o.rows},
                         {"npcol", o.columns},
                         {"nporder", name(o.order)},
                         {"ranks", setup.hosts.size()},
                         {"matrix", name(o.matrix)},
                         {"seed", o.seed}};
  if (o.matrix == MatrixKind::fasi_higham) {
    chosen["kappa"] = o.kappa;
    chosen["rho"] = o.rho;
  }
  chosen["precision"] = name(o.precision);
  chosen["refine"] = name(o.refine);
  chosen["max_iterations"] = o.max_iterations;
  chosen["lookahead"] = o.lookahead;
  chosen["bcast"] = name(o.broadcast);
  chosen["device"] = name(o.device);
  chosen["device_description"] = setup.device;
  chosen["comm"] = name(o.comm);
  if (!setup.gpus.empty()) {
    chosen["gpus"] = setup.gpus;
    chosen["reserved_multiprocessors"] =
        o.reserved < 0 ? ordered_json(nullptr) : ordered_json(o.reserved);
  }
  chosen["threads"] = o.threads;
  chosen["memory"] = {
      {"needed_per_rank_bytes", static_cast<std::int64_t>(setup.footprint.rank_bytes())},
      {"free_per_rank_bytes", static_cast<std::int64_t>(setup.budget.rank_free)},
      {"free_shared_bytes", static_cast<std::int64_t>(setup.budget.shared_free)},
      {"ranks_sharing", setup.budget.sharing},
      {"host", setup.budget.host},
      {"bound", setup.budget.bound}};
  return chosen;
}

/// The first that failed, or else the fastest.
const BenchmarkRun& representative(const std::vector<BenchmarkRun>& runs) {
  return *std::min_element(runs.begin(), runs.end(), [](const BenchmarkRun& a, const BenchmarkRun& b) {
    if (a.result.passed != b.result.passed) return b.result.passed;
    return a.result.passed && a.result.seconds < b.result.seconds;
  });
}

}  // namespace

ordered_json json_report(const Setup& setup, const std::vector<BenchmarkRun>& runs,
                         const std::string& command_line, const std::vector<std::string>& notes) {
  ordered_json document = {{"schema", "lupine/1"},
                           {"benchmark", "hpl-mxp"},
                           {"version", LUPINE_VERSION},
                           {"revision", LUPINE_REVISION},
                           {"date", utc(runs.front().begin)},
                           {"hosts", nodes(setup.hosts)},
                           {"command_line", command_line}};
  document.update(choices(setup));
  document.update(outcome(setup, representative(runs)));
  for (const std::string& note : notes) document["notes"].push_back(note);
  for (const BenchmarkRun& run : runs) document["runs"].push_back(outcome(setup, run));
  return document;
}

}  // namespace lupine
