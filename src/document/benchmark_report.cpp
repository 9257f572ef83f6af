// SPDX-License-Identifier: BSD-3-Clause
#include "document/benchmark_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <set>
#include <utility>

#include "core/counted.hpp"
#include "core/numbers.hpp"
#include "document/option_lines.hpp"
#include "document/report_parts.hpp"
#include "document/sensor_text.hpp"
#include "setup/footprint.hpp"

namespace speedwell {

namespace {

/// HPL's digit for a broadcast method. MPI_Ibcast, which HPL does not have, is 6, as in HPL.dat.
char digit(BroadcastMethod method) {
  switch (method) {
    case BroadcastMethod::ring:
      return '0';
    case BroadcastMethod::ring_modified:
      return '1';
    case BroadcastMethod::two_ring:
      return '2';
    case BroadcastMethod::two_ring_modified:
      return '3';
    case BroadcastMethod::spread_roll:
      return '4';
    case BroadcastMethod::spread_roll_modified:
      return '5';
    case BroadcastMethod::ibcast:
      return '6';
  }
  return '?';
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

std::string thread_text(const Setup& setup) {
  const int least = setup.options.run.threads;
  return least == setup.machine.most_threads
             ? fmt::format("{} a rank", least)
             : fmt::format("{} to {} a rank", least, setup.machine.most_threads);
}

/// The GPUs of the first ranks, one line a rank.
std::string gpu_lines(const Setup& setup) {
  constexpr std::size_t shown = 16;
  std::string text;
  if (setup.machine.gpus.empty()) return text;
  const int reserved = setup.options.run.reserve;
  text += line("RESERVE", fmt::format("multiprocessors for panels beside updates: {}",
                                      reserved < 0 ? "by their work" : std::to_string(reserved)));
  for (std::size_t r = 0; r < std::min(shown, setup.machine.gpus.size()); ++r)
    text += line(fmt::format("rank {}", r),
                 fmt::format("{} of {}", setup.machine.gpus[r], setup.machine.hosts[r]));
  if (setup.machine.gpus.size() > shown)
    text +=
        line("ranks", fmt::format("{} more, in the JSON file", setup.machine.gpus.size() - shown));
  return text;
}

/// The lines P and Q. They list each pair (P, Q) once.
std::string grid_lines(const std::vector<Setup>& setups) {
  std::vector<RunOptions> grids;
  const auto same = [](const RunOptions& a, const RunOptions& b) {
    return a.nprow == b.nprow && a.npcol == b.npcol;
  };
  for (const Setup& setup : setups)
    if (std::none_of(grids.begin(), grids.end(),
                     [&](const RunOptions& o) { return same(o, setup.options.run); }))
      grids.push_back(setup.options.run);
  const auto side = [&](int RunOptions::*processes) {
    if (grids.size() == 1) return std::to_string(grids.front().*processes);
    std::string text;
    for (const RunOptions& grid : grids) text += fmt::format("{:>8} ", grid.*processes);
    return text;
  };
  const std::string reason = grids.size() == 1 ? setups.front().machine.reasons.grid : "";
  return line("P", side(&RunOptions::nprow), reason) + line("Q", side(&RunOptions::npcol), reason);
}

std::string method_lines(OptionLines& lines, const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  std::string text = lines.take("precision", setup.reasons.precision);
  if (o.precision == Precision::fp64 && !setup.machine.fp64.empty())
    text += lines.take_as("fp64", setup.machine.fp64);
  else
    lines.skip({"fp64"});  // no update multiplies FP64, or it can only be native
  text += lines.take_as("matrix", matrix_text(o));
  text += lines.take("pivoting");
  if (o.pivoting == Pivoting::partial)
    text += lines.take("nbmin", setup.reasons.leaf) + lines.take("ndiv");
  if (o.benchmark == Benchmark::mxp)
    text += lines.take_as(
        "refine", fmt::format("{}, at most {} corrections", name(o.refine), o.max_iterations));
  // These options stand in other lines or have no effect on this run.
  lines.skip({"benchmark", "kappa", "rho", "seed", "nbmin", "ndiv", "refine", "max_iterations",
              "threshold", "memory_fraction", "time_target"});
  return text;
}

std::string machine_lines(OptionLines& lines, const Setup& setup, double needed) {
  const RunOptions& o = setup.options.run;
  const MachineReasons& why = setup.machine.reasons;
  const MemoryBudget& memory = setup.budget;
  std::string text = lines.take_as(
      "device", fmt::format("{}: {}", name(o.device), setup.machine.device), why.device);
  text += lines.take_as("comm", std::string(name(o.comm)), why.comm);
  lines.skip({"gpus", "reserve"});
  text += gpu_lines(setup);
  text += lines.take_as("threads", thread_text(setup), why.threads);
  text += lines.take_as("stall_timeout", stall_text(o.stall_timeout));
  text += line("MEMORY", fmt::format("{} needed a rank, {} free", gibibytes(needed),
                                     gibibytes(memory.rank_free)));
  text += line(memory.on_device ? "GPU" : "NODE",
               fmt::format("{} free for {} on {} ({})", gibibytes(memory.shared_free),
                           counted(memory.sharing, "rank"), memory.host, memory.bound));
  return text;
}

/// The setup with the most ranks.
const Setup& widest(const std::vector<Setup>& setups) {
  return *std::max_element(setups.begin(), setups.end(), [](const Setup& a, const Setup& b) {
    return a.machine.hosts.size() < b.machine.hosts.size();
  });
}

/// The chosen values of all configurations. A line lists each value once, in the order of the runs.
std::string parameters(const std::vector<Setup>& setups) {
  const Setup& wide = widest(setups);
  const Reasons& why = setups.front().reasons;
  double needed = 0;
  OptionLines lines;
  OptionLines columns;
  for (const Setup& setup : setups) {
    needed = std::max(needed, rank_bytes(setup.lu));
    lines.add(setup.options);
    columns.add({{"panel", option_text(setup.lu.width)},
                 {"chunk", chunk_text(setup.options.run.chunk, setup.options.n)}});
  }
  std::string text = lines.take("n", why.n) + lines.take("nb", why.nb);
  text += lines.take_as("nporder", wide.options.run.order == GridOrder::row
                                       ? "Row-major process mapping"
                                       : "Column-major process mapping");
  lines.skip({"nprow", "npcol"});
  text += grid_lines(setups);
  text += line("RANKS", ranks_text(wide.machine.hosts));
  if (wide.machine.paper)
    text += line("NUMBERS", "of the machine file: " + wide.machine.paper->numbers);
  text += method_lines(lines, setups.front());
  text += lines.take("lookahead", why.lookahead) + lines.take("bcast");
  lines.skip({"chunk"});
  text += columns.take("panel") + columns.take("chunk", why.chunk);
  text += machine_lines(lines, wide, needed);
  return text + lines.rest();
}

/// A time in the layout of C's ctime.
std::string time_text(std::time_t time) {
  std::tm local{};
  localtime_r(&time, &local);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%a %b %e %H:%M:%S %Y", &local);
  return text.data();
}

const char* verdict(bool passed) {
  return passed ? "PASSED" : "FAILED";
}

/// The norms of a failed run in HPL's layout; HPL shows 1-norms too.
std::string failed_norms(const SystemNorms& norms) {
  return fmt::format(
      "||Ax-b||_oo  . . . . . . . . . . . . . . . . . = {:18.6f}\n"
      "||A||_oo . . . . . . . . . . . . . . . . . . . = {:18.6f}\n"
      "||x||_oo . . . . . . . . . . . . . . . . . . . = {:18.6f}\n"
      "||b||_oo . . . . . . . . . . . . . . . . . . . = {:18.6f}\n",
      norms.residual, norms.a, norms.x, norms.b);
}

std::string verdict_lines(const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  if (run.paper) return paper_line(run.paper);
  if (!r.factored()) return fmt::format("{}\n{} ...... FAILED\n", rule, no_factors(r));
  if (r.chosen.threshold <= 0) return "";
  const std::string line =
      fmt::format("{}\n||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {:>16.8e} ...... {}\n",
                  rule, r.scaled_residual, verdict(r.passed));
  return r.passed ? line : line + failed_norms(r.norms);
}

std::string hpl_lines(const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  const BenchmarkOptions& o = r.chosen;
  std::string text = fmt::format(
      "{}\n"
      "T/V                N    NB     P     Q               Time                 Gflops\n"
      "{}\n",
      double_rule, rule);
  text += fmt::format("{}{:12} {:5} {:5} {:5} {:18.2f}     {:18.3e}{}\n", variant(o), o.n, o.run.nb,
                      o.run.nprow, o.run.npcol, r.seconds, r.gflops,
                      run.paper                              ? "  PREDICTED"
                      : o.run.fp64 == Fp64Products::emulated ? "  EMULATED FP64"
                                                             : "");
  text += fmt::format("HPL_pdgesv() start time {}\n\nHPL_pdgesv() end time   {}\n\n",
                      time_text(run.begin), time_text(run.end));
  return text.append(verdict_lines(run)).append(double_rule).append("\n");
}

/// Number of GPUs that compute; a rank on CPU cores counts as one.
std::size_t units(const Setup& setup) {
  std::set<std::string> distinct;
  for (std::size_t r = 0; r < setup.machine.gpus.size(); ++r)
    distinct.insert(setup.machine.hosts[r] + ' ' + setup.machine.gpus[r]);
  return setup.machine.gpus.empty() ? setup.machine.hosts.size() : distinct.size();
}

std::string mxp_norms(const BenchmarkResult& r) {
  std::string text;
  const auto number = [&](const char* label, double value) {
    text += fmt::format("  {:<11} = {:>15.6e}\n", label, value);
  };
  number("EPS", eps);
  number("Threshold", r.chosen.threshold);
  number("||Ax-b||_oo", r.norms.residual);
  number("||A||_oo", r.norms.a);
  number("||x||_oo", r.norms.x);
  number("||b||_oo", r.norms.b);
  text += fmt::format(
      "  ||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) = {:>15.6e} "
      "...... {}\n\n",
      r.scaled_residual, verdict(r.passed));
  return text;
}

std::string mxp_block(const Setup& setup, const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  const BenchmarkOptions& o = r.chosen;
  if (o.benchmark != Benchmark::mxp || !r.factored()) return "";
  const auto gpus = static_cast<double>(units(setup));
  std::string text = "\n****** HPL-MxP result ******\n\n" + paper_line(run.paper);
  if (o.threshold > 0 && !run.paper) text += mxp_norms(r);
  text += fmt::format("    N = {}, NB = {}, NPROW = {}, NPCOL = {}, SLOPPY-TYPE = {}\n", o.n,
                      o.run.nb, o.run.nprow, o.run.npcol, upper(name(o.precision)));
  // Scripts look for "per GPU"; on CPUs the number after it is the rate of a rank.
  const auto rate = [&](const char* label, double gflops, const char* meaning) {
    text += fmt::format("{:>13} = {:.4e}, per GPU = {:10.2f} ------ {}\n", label, gflops,
                        gflops / gpus, meaning);
  };
  rate("GFLOPS", r.gflops,
       run.paper                    ? "PREDICTED"
       : setup.machine.gpus.empty() ? "the score; a rank on CPU cores counts as a GPU"
                                    : "the score");
  rate("LU GFLOPS", r.lu_gflops, "the same operations without the time of the refinement");
  return text;
}

std::string phase_table(const Setup& setup, const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  std::string text = fmt::format("\n{}{:<20} {:>11} {:>11}   {}\n", paper_line(run.paper),
                                 "Phase, seconds", "average", "maximum", "slowest rank");
  const auto phase = [&](const char* label, const PhaseTime& time) {
    text += fmt::format("{:<20} {:11.3f} {:11.3f}   {} on {}\n", label, time.average, time.maximum,
                        time.slowest_rank,
                        setup.machine.hosts[static_cast<std::size_t>(time.slowest_rank)]);
  };
  phase("panel", r.panel);
  phase("rows", r.rows);
  phase("broadcast (exposed)", r.broadcast);
  phase("update", r.update);
  phase("solves", r.solves);
  const bool refined = r.chosen.benchmark == Benchmark::mxp;
  if (refined) phase("residuals", r.residuals);
  text += fmt::format("LU {:.3f} s, {} {:.3f} s ({:.1f} %), together {:.3f} s\n", r.lu_seconds,
                      refined ? "refinement" : "solve", r.refine_seconds,
                      r.seconds > 0 ? 100 * r.refine_seconds / r.seconds : 0, r.seconds);
  return text;
}

std::string memory_line(const Setup& setup, const BenchmarkRun& run) {
  const std::string peak = peak_text(run.peak, setup.budget.on_device, setup.machine.hosts);
  if (peak.empty()) return "";
  const std::string pages =
      setup.budget.on_device || std::isnan(run.large_pages)
          ? ""
          : fmt::format("; {} of all ranks in large pages", gibibytes(run.large_pages));
  return fmt::format("Memory: {} needed a rank, {}{}\n", gibibytes(rank_bytes(setup.lu)), peak,
                     pages);
}

std::string sensor_lines(const BenchmarkRun& run) {
  if (!run.sensors) return "";
  const EnergyReport& energy = run.sensors->energy;
  const std::string times = energy_times(energy);
  return fmt::format("Energy: {}\n", energy_text(energy, benchmark_flops(run.result.chosen.n))) +
         (times.empty() ? "" : fmt::format("        {}\n", times)) +
         monitor_lines(run.sensors->monitors, run.update_rates);
}

std::string convergence(const BenchmarkResult& r) {
  if (r.history.empty()) return "";
  std::string text = fmt::format("\nRefinement: {}, {}; scaled residual after each:\n",
                                 name(r.method), counted(r.iterations, "correction"));
  for (std::size_t i = 0; i < r.history.size(); ++i)
    text += fmt::format("  {:>3}  {:.3e}\n", i + 1, r.history[i]);
  return text;
}

/// The notes of all setups, each once, and then `others`.
std::vector<std::string> all_notes(const std::vector<Setup>& setups,
                                   const std::vector<std::string>& others) {
  std::vector<std::string> all;
  const auto add = [&](const std::vector<std::string>& notes) {
    for (const std::string& note : notes)
      if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(note);
  };
  for (const Setup& setup : setups) add(setup.notes);
  add(others);
  return all;
}

std::string judgement(double threshold) {
  std::string text = fmt::format(
      "\n{}\n\n"
      "- The residual is computed in FP64 from A and b, generated anew:\n"
      "      ||Ax-b||_oo / ( eps * ( ||A||_oo * ||x||_oo + ||b||_oo ) * N )\n"
      "- The relative machine precision (eps) is taken to be               {:.6e}\n",
      rule, eps);
  if (threshold <= 0)
    return text +
           fmt::format("- Residuals are not checked: the threshold, {:g}, is not above 0\n\n",
                       threshold);
  const std::string limit = std::fmod(threshold * 10, 1) == 0 ? fmt::format("{:.1f}", threshold)
                                                              : fmt::format("{:g}", threshold);
  return text +
         fmt::format("- Computational tests pass if scaled residuals are less than {:>19}\n\n",
                     limit);
}

}  // namespace

// The last four places of HPL's variant name a panel's factorization: RFACT, NDIV, PFACT, NBMIN.
// Pivoted panels here are right-looking (R), in the recursion and at its end. Panels without
// pivoting are not divided; "R1R1" keeps the form.
std::string variant(const BenchmarkOptions& o) {
  const bool pivoted = o.pivoting == Pivoting::partial;
  return fmt::format("W{}{}{}R{}R{}", o.run.order == GridOrder::row ? 'R' : 'C', o.run.lookahead,
                     digit(o.run.broadcast), pivoted ? o.ndiv : 1, pivoted ? o.leaf : 1);
}

std::string report_head(const std::vector<Setup>& setups, const std::vector<std::string>& notes) {
  const BenchmarkOptions& o = setups.front().options;
  const bool mxp = o.benchmark == Benchmark::mxp;
  std::string text =
      banner(mxp ? "HPL-MxP: low-precision LU, FP64 solution"
             : o.run.fp64 == Fp64Products::emulated
                 ? "HPL with FP64 products emulated by integers: LU with partial pivoting"
                 : "HPL: FP64 LU with partial pivoting");
  text += fmt::format(
      "T/V    : W, process mapping (R, C), look-ahead depth, broadcast (0 1ring,\n"
      "         1 1ring-modified, 2 2ring, 3 2ring-modified, 4 long, 5 long-modified,\n"
      "         6 MPI_Ibcast), {}\n"
      "N      : order of the matrix A\n"
      "NB     : columns of a block\n"
      "P, Q   : rows and columns of the process grid\n"
      "Time   : seconds of factorization and {}\n"
      "Gflops : (2/3 N^3 + 3/2 N^2) / Time / 10^9{}\n\n"
      "The following parameter values will be used:\n\n",
      o.pivoting == Pivoting::partial ? "R, NDIV, R, NBMIN" : "R1R1", mxp ? "refinement" : "solve",
      o.precision == Precision::fp16x3 ? "; the three products of fp16x3 count as one" : "");
  const std::optional<Paper>& paper = setups.front().machine.paper;
  text += paper_line(paper);
  text += parameters(setups);
  text += list("Notes:", all_notes(setups, notes));
  return text +
         (paper ? fmt::format("\n{}\n\n- {}", rule, paper_line(paper)) : judgement(o.threshold));
}

std::string report_run(const Setup& setup, const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  std::vector<std::string> notes = r.notes;
  const auto known = [&](const std::string& note) {
    return std::find(setup.notes.begin(), setup.notes.end(), note) != setup.notes.end();
  };
  notes.erase(std::remove_if(notes.begin(), notes.end(), known), notes.end());
  return hpl_lines(run) + mxp_block(setup, run) + phase_table(setup, run) +
         memory_line(setup, run) + sensor_lines(run) + convergence(r) +
         list("Notes on this run:", notes) + "\n";
}

std::string report_tail(const RunCounts& counts, bool checked, const std::optional<Paper>& paper) {
  const auto count = [](int runs, const char* how) {
    return fmt::format("         {:6} tests {}\n", runs, how);
  };
  if (paper) return fmt::format("{0}\n{1}{0}\n", double_rule, paper_line(paper));
  std::string text = fmt::format("{}\n\nFinished {:6} tests with the following results:\n",
                                 double_rule, counts.passed + counts.failed);
  text += count(counts.passed,
                checked ? "completed and passed residual checks," : "completed without checking,");
  if (checked || counts.failed > 0)
    text += count(counts.failed, "completed and failed residual checks,");
  text += count(0, "skipped because of illegal input values.");
  return text + fmt::format("{}\n\nEnd of Tests.\n{}\n", rule, double_rule);
}

double speedup(const BenchmarkRun& mxp, const BenchmarkRun& hpl) {
  return hpl.result.gflops > 0 ? mxp.result.gflops / hpl.result.gflops : 0;
}

std::string report_summary(const BenchmarkRun& mxp, const BenchmarkRun& hpl) {
  std::string text = "\n****** HPL-MxP and HPL ******\n\n" + paper_line(mxp.paper);
  const auto each = [&](auto line) {
    text += line("HPL-MxP", mxp.result);
    text += line("HPL", hpl.result);
  };
  each([](const char* what, const BenchmarkResult& r) {
    const BenchmarkOptions& o = r.chosen;
    return fmt::format("  {:<16} = {:>12.4e}   N = {}, NB = {}, P = {}, Q = {}, {}\n",
                       fmt::format("{} GFLOPS", what), r.gflops, o.n, o.run.nb, o.run.nprow,
                       o.run.npcol, name(o.precision));
  });
  const double faster = speedup(mxp, hpl);
  text += fmt::format("  {:<16} = {:>12}\n", "Speedup",
                      faster > 0 ? fmt::format("{:.2f}", faster) : std::string("none"));
  if (!mxp.paper)
    each([](const char* what, const BenchmarkResult& r) {
      const std::string residual = std::isfinite(r.scaled_residual)
                                       ? fmt::format("{:.4e}", r.scaled_residual)
                                       : std::string("none");
      return fmt::format("  {:<16} = {:>12} ...... {}\n", fmt::format("{} residual", what),
                         residual, verdict(r.passed));
    });
  return text.append("\n").append(double_rule).append("\n");
}

}  // namespace speedwell
