// SPDX-License-Identifier: BSD-3-Clause
#include "report/document_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "bench/campaign.hpp"
#include "bench/rules.hpp"
#include "io/text.hpp"
#include "report/json_fields.hpp"
#include "report/run_bounds.hpp"
#include "report/submission.hpp"
#include "setup/footprint.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr double exact = 1e-9;  // relative: what the same formula gives again

bool near(double a, double b, double tolerance = exact) {
  return std::abs(a - b) <= tolerance * std::max(std::abs(a), std::abs(b));
}

/// The checks of one run, or of one benchmark.
class Checks {
 public:
  Checks(std::string name, std::vector<SubmissionCheck>& all) : name_(std::move(name)), all_(all) {}
  void operator()(const std::string& what, bool right, std::string wrong) const {
    all_.push_back({fmt::format("{}: {}", name_, what), right ? "" : std::move(wrong)});
  }

 private:
  std::string name_;
  std::vector<SubmissionCheck>& all_;
};

void check_rates(const Checks& check, const BenchmarkResult& r) {
  const auto follows = [&](const char* what, double gflops, double seconds) {
    const double again = score(r.chosen.n, seconds);
    check(what, near(gflops, again),
          fmt::format("{:.6g} GFLOP/s, but the formula gives {:.6g}", gflops, again));
  };
  follows("the score is (2/3 n^3 + 3/2 n^2) / time", r.gflops, r.seconds);
  follows("the rate of the LU is that of its time", r.lu_gflops, r.lu_seconds);
  const double parts = r.lu_seconds + r.refine_seconds;
  // Each is the time of the rank that was slowest in it.
  check("the time holds the factorization and what follows",
        parts >= r.seconds * (1 - exact) && r.lu_seconds <= r.seconds * (1 + exact) &&
            r.refine_seconds <= r.seconds * (1 + exact),
        fmt::format("{:.6g} s, but its parts are {:.6g} s and {:.6g} s", r.seconds, r.lu_seconds,
                    r.refine_seconds));
}

/// The length of a run by a calendar in whole seconds, or by that of the energy meter, which has
/// milliseconds. Ranks that are late at the beginning make it longer than the time that counts.
void check_times(const Checks& check, const BenchmarkRun& run, std::time_t now) {
  constexpr std::time_t first = 1'577'836'800;  // 2020: there was no Speedwell before
  constexpr std::time_t other_clock = 24 * 60 * 60;
  constexpr double late = 10;
  const auto length = static_cast<double>(run.end - run.begin);
  const double seconds = run.result.seconds;
  check("it began and ended after 2020 and before now",
        run.begin >= first && run.end >= run.begin && run.end <= now + other_clock,
        fmt::format("{} to {}", utc_text(run.begin), utc_text(run.end)));
  check("its time is that from its start to its end",
        seconds > 0 && seconds <= length + 1 && length <= 2 * seconds + late,
        fmt::format("{:.6g} s, but {} to {} is {} s", seconds, utc_text(run.begin),
                    utc_text(run.end), length));
}

void check_energy(const Checks& check, const ordered_json& run, const BenchmarkResult& r) {
  const ordered_json& energy = at(run, {"energy"});
  if (!energy.is_object() || !energy.contains("gflops_per_watt")) return;
  const double rate = number_at(energy, {"gflops_per_watt"});
  if (std::isnan(rate)) return;
  const double again = r.gflops * r.seconds / number_at(energy, {"joules"});
  check("GFLOPS/W are the operations by the energy", near(rate, again),
        fmt::format("{:.6g}, but the energy gives {:.6g}", rate, again));
}

void check_residual(const Checks& check, const BenchmarkResult& r) {
  const double residual = r.norms.residual / (eps * (r.norms.a * r.norms.x + r.norms.b) *
                                              static_cast<double>(r.chosen.n));
  check("the scaled residual is that of the norms", near(r.scaled_residual, residual),
        fmt::format("{:.6g}, but the norms give {:.6g}", r.scaled_residual, residual));
  const bool below = r.scaled_residual < r.chosen.threshold;
  check("the residual is below the threshold", below,
        fmt::format("{:.4g}, not below {:g}", r.scaled_residual, r.chosen.threshold));
  check("it is said to have passed", r.passed, "it is said to have failed");
}

void check_bounds(const Checks& check, const std::vector<BoundList>& lists) {
  for (const BoundList& list : lists) {
    if (list.bounds.empty()) continue;
    const auto wrong = std::ranges::find_if_not(list.bounds, &Bound::holds);
    const bool right = wrong == list.bounds.end();
    check(list.what, right,
          right ? ""
                : fmt::format("{} is {:.10g}, possible are {:.10g} to {:.10g}", wrong->figure,
                              wrong->value, wrong->least, wrong->most));
  }
}

/// The memory that the run announced, which is that of its plan.
void check_plan(const Checks& check, const ordered_json& document, const Setup& setup) {
  const double needed = number_at(document, {"memory", "needed_per_rank_bytes"});
  const double again = std::floor(rank_bytes(setup.lu));
  check("the memory of a rank is that of the plan", needed == again,
        fmt::format("{:.15g} bytes, but the plan takes {:.15g}", needed, again));
}

void check_rules(const Checks& check, const ordered_json& run) {
  const std::string verdict = verdict_of(judged_run(run));
  check("every rule is kept", verdict == "admissible: yes", verdict);
  check("the report says the same of the rules",
        at(run, {"admissible"}) == (verdict == "admissible: yes"),
        fmt::format("it says admissible: {}", at(run, {"admissible"}).dump()));
}

/// What the top of the document says of the run that stands for all, but for its notes.
void check_top(const Checks& check, const ordered_json& document, const Measured& measured) {
  const std::vector<Measured> all{measured};
  const auto index = static_cast<std::size_t>(&representative(all).run - all.front().runs.data());
  std::string differing;
  for (const auto& [key, value] : at(document, {"runs"})[index].items())
    if (key != "notes" && (!document.contains(key) || document[key] != value))
      differing += (differing.empty() ? "" : ", ") + key;
  check("its figures are those of its fastest run", differing.empty(),
        fmt::format("not so: {}", printable(differing, 200)));
  const RunOptions& o = measured.setup.options.run;
  check(
      "there is a rank for each place of the grid",
      std::int64_t{o.nprow} * o.npcol == std::ssize(measured.setup.machine.hosts),
      fmt::format("{} ranks, but {} x {}", measured.setup.machine.hosts.size(), o.nprow, o.npcol));
}

}  // namespace

std::vector<SubmissionCheck> check_document(const ordered_json& document, const Measured& mxp,
                                            const Measured& hpl, std::time_t now) {
  std::vector<SubmissionCheck> all;
  const Checks both("both", all);
  std::time_t ended = 0;
  bool in_turn = true;
  for (const auto& [which, measured] : {std::pair{"mxp", &mxp}, std::pair{"hpl", &hpl}}) {
    const ordered_json& part = at(document, {which});
    for (std::size_t i = 0; i < measured->runs.size(); ++i) {
      const BenchmarkRun& run = measured->runs[i];
      const Checks check(
          measured->runs.size() == 1 ? std::string(which) : fmt::format("{}, run {}", which, i + 1),
          all);
      check_rates(check, run.result);
      check_times(check, run, now);
      check_energy(check, part["runs"][i], run.result);
      check_residual(check, run.result);
      check_bounds(check, bounds_of(measured->setup, run, part["runs"][i]));
      in_turn = in_turn && run.begin >= ended;
      ended = run.end;
    }
    const Checks check(which, all);
    check_top(check, part, *measured);
    check_plan(check, part, measured->setup);
    check_rules(check, part);
  }
  both("each run began after the one before had ended", in_turn, "they overlap");
  const double speedup =
      number_at(document, {"mxp", "gflops"}) / number_at(document, {"hpl", "gflops"});
  both(
      "the speedup is the quotient of the scores", near(number_at(document, {"speedup"}), speedup),
      fmt::format("{:.6g}, but the scores give {:.6g}", number_at(document, {"speedup"}), speedup));
  both("both are said to have passed", at(document, {"passed"}) == true, "not so");
  for (const char* key : {"version", "revision", "hosts", "command_line"})
    both(fmt::format("they have the same {}", key),
         at(document, {"mxp", key}) == at(document, {key}) &&
             at(document, {"hpl", key}) == at(document, {key}),
         "another one");
  both("the date is that of the first run",
       at(document, {"date"}) == utc_text(mxp.runs.front().begin), "another one");
  return all;
}

}  // namespace speedwell
