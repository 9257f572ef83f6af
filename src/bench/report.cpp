#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "revision.hpp"

namespace lupine {

namespace {

constexpr std::string_view double_rule =
    "================================================================================";
constexpr std::string_view rule =
    "--------------------------------------------------------------------------------";

/// HPL's digit for a broadcast; MPI_Ibcast, which HPL has not, is the 6 that others gave it.
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

std::string line(std::string_view label, const std::string& value, const std::string& reason = "") {
  return fmt::format("{:<10} : {}\n", label,
                     reason.empty() ? value : fmt::format("{:<12} chosen: {}", value, reason));
}

std::string matrix_text(const BenchmarkOptions& o) {
  if (o.matrix != MatrixKind::fasi_higham)
    return fmt::format("{}, seed {}", name(o.matrix), o.seed);
  return fmt::format("{}, kappa {:g}, rho {:g}; seed of b {}", name(o.matrix), o.kappa, o.rho,
                     o.seed + 1);
}

std::string thread_text(const Setup& setup) {
  const int least = setup.options.threads;
  return least == setup.most_threads ? fmt::format("{} a rank", least)
                                     : fmt::format("{} to {} a rank", least, setup.most_threads);
}

/// Which rank computes where: a line a rank, for as many as one reads.
std::string gpu_lines(const Setup& setup) {
  constexpr std::size_t shown = 16;
  std::string text;
  if (setup.gpus.empty()) return text;
  const int reserved = setup.options.reserved;
  text += line("RESERVE", fmt::format("multiprocessors for panels beside updates: {}",
                                      reserved < 0 ? "by their work" : std::to_string(reserved)));
  for (std::size_t r = 0; r < std::min(shown, setup.gpus.size()); ++r)
    text += line(fmt::format("rank {}", r), fmt::format("{} of {}", setup.gpus[r], setup.hosts[r]));
  if (setup.gpus.size() > shown)
    text += line("ranks", fmt::format("{} more, in the JSON file", setup.gpus.size() - shown));
  return text;
}

std::string parameters(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  const Reasons& why = setup.reasons;
  const std::size_t nodes = std::set(setup.hosts.begin(), setup.hosts.end()).size();
  const MemoryBudget& memory = setup.budget;
  std::string text;
  text += line("N", std::to_string(o.n), why.n);
  text += line("NB", std::to_string(o.nb), why.nb);
  text += line("PMAP", o.order == GridOrder::row ? "Row-major process mapping"
                                                 : "Column-major process mapping");
  text += line("P", std::to_string(o.rows), why.grid);
  text += line("Q", std::to_string(o.columns), why.grid);
  text += line("RANKS", fmt::format("{} on {} node{}, the first {}", setup.hosts.size(), nodes,
                                    nodes == 1 ? "" : "s", setup.hosts.front()));
  text += line("PRECISION", std::string(name(o.precision)), why.precision);
  text += line("MATRIX", matrix_text(o));
  text +=
      line("REFINE", fmt::format("{}, at most {} corrections", name(o.refine), o.max_iterations));
  text += line("DEPTH", fmt::format("{} (look-ahead)", o.lookahead));
  text += line("BCAST", std::string(name(o.broadcast)));
  text += line("PANEL", fmt::format("{} columns a step", setup.panel_width));
  text += line("DEVICE", fmt::format("{}: {}", name(o.device), setup.device), why.device);
  text += line("COMM", std::string(name(o.comm)), why.comm);
  text += gpu_lines(setup);
  text += line("THREADS", thread_text(setup), why.threads);
  text += line("MEMORY",
               fmt::format("{} needed a rank, {} free", gibibytes(setup.footprint.rank_bytes()),
                           gibibytes(memory.rank_free)));
  text +=
      line(memory.on_device ? "GPU" : "NODE",
           fmt::format("{} free for {} rank{} on {} ({})", gibibytes(memory.shared_free),
                       memory.sharing, memory.sharing == 1 ? "" : "s", memory.host, memory.bound));
  return text;
}

/// As C's ctime writes it.
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

std::string hpl_lines(const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  const BenchmarkOptions& o = r.chosen;
  std::string text = fmt::format(
      "{}\n"
      "T/V                N    NB     P     Q               Time                 Gflops\n"
      "{}\n",
      double_rule, rule);
  text += fmt::format("{}{:12} {:5} {:5} {:5} {:18.2f}     {:18.3e}\n", variant(o), o.n, o.nb,
                      o.rows, o.columns, r.seconds, r.gflops);
  text += fmt::format("HPL_pdgesv() start time {}\n\nHPL_pdgesv() end time   {}\n\n",
                      time_text(run.begin), time_text(run.end));
  text += fmt::format("{}\n||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {:>16.8e} ...... {}\n",
                      rule, r.scaled_residual, verdict(r.passed));
  return text.append(double_rule).append("\n");
}

/// GPUs that compute; a rank on CPU cores counts as one.
std::size_t units(const Setup& setup) {
  std::set<std::string> distinct;
  for (std::size_t r = 0; r < setup.gpus.size(); ++r)
    distinct.insert(setup.hosts[r] + ' ' + setup.gpus[r]);
  return setup.gpus.empty() ? setup.hosts.size() : distinct.size();
}

std::string mxp_block(const Setup& setup, const BenchmarkResult& r) {
  const BenchmarkOptions& o = r.chosen;
  const auto gpus = static_cast<double>(units(setup));
  std::string text = "\n****** HPL-MxP result ******\n\n";
  const auto number = [&](const char* label, double value) {
    text += fmt::format("  {:<11} = {:>15.6e}\n", label, value);
  };
  number("EPS", 0x1p-53);
  number("Threshold", 16);
  number("||Ax-b||_oo", r.norms.residual);
  number("||A||_oo", r.norms.a);
  number("||x||_oo", r.norms.x);
  number("||b||_oo", r.norms.b);
  text += fmt::format(
      "  ||Ax-b||_oo / (EPS * (||A||_oo * ||x||_oo + ||b||_oo) * N) = {:>15.6e} "
      "...... {}\n\n",
      r.scaled_residual, verdict(r.passed));
  text += fmt::format("    N = {}, NB = {}, NPROW = {}, NPCOL = {}, SLOPPY-TYPE = {}\n", o.n, o.nb,
                      o.rows, o.columns, upper(name(o.precision)));
  // Scripts look for "per GPU"; where there is none, a rank takes its place.
  const auto rate = [&](const char* label, double gflops, const char* meaning) {
    text += fmt::format("{:>13} = {:.4e}, per GPU = {:10.2f} ------ {}\n", label, gflops,
                        gflops / gpus, meaning);
  };
  rate("GFLOPS", r.gflops,
       setup.gpus.empty() ? "the score; a rank on CPU cores counts as a GPU" : "the score");
  rate("LU GFLOPS", r.lu_gflops, "the same operations without the time of the refinement");
  return text;
}

std::string phase_table(const Setup& setup, const BenchmarkResult& r) {
  std::string text = fmt::format("\n{:<20} {:>11} {:>11}   {}\n", "Phase, seconds", "average",
                                 "maximum", "slowest rank");
  const auto phase = [&](const char* label, const PhaseTime& time) {
    text +=
        fmt::format("{:<20} {:11.3f} {:11.3f}   {} on {}\n", label, time.average, time.maximum,
                    time.slowest_rank, setup.hosts[static_cast<std::size_t>(time.slowest_rank)]);
  };
  phase("panel", r.panel);
  phase("broadcast (exposed)", r.broadcast);
  phase("update", r.update);
  phase("solves", r.solves);
  phase("residuals", r.residuals);
  text += fmt::format("LU {:.3f} s, refinement {:.3f} s ({:.1f} %), together {:.3f} s\n",
                      r.lu_seconds, r.refine_seconds,
                      r.seconds > 0 ? 100 * r.refine_seconds / r.seconds : 0, r.seconds);
  return text;
}

std::string convergence(const BenchmarkResult& r) {
  if (r.history.empty()) return "\nRefinement: none\n";
  std::string text = fmt::format("\nRefinement: {}, {} correction{}; scaled residual after each:\n",
                                 name(r.method), r.iterations, r.iterations == 1 ? "" : "s");
  for (std::size_t i = 0; i < r.history.size(); ++i)
    text += fmt::format("  {:>3}  {:.3e}\n", i + 1, r.history[i]);
  return text;
}

std::string list(const char* title, const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += fmt::format("- {}\n", note);
  return text.empty() ? text : fmt::format("\n{}\n{}", title, text);
}

}  // namespace

// HPL's variant names how a panel is factored (recursion, its leaves, their widths) in its last
// four places. There is no such choice here; "R1R1", right-looking and not divided, keeps the form.
std::string variant(const BenchmarkOptions& o) {
  return fmt::format("W{}{}{}R1R1", o.order == GridOrder::row ? 'R' : 'C', o.lookahead,
                     digit(o.broadcast));
}

std::string report_head(const Setup& setup, const std::vector<std::string>& notes) {
  std::string text = fmt::format(
      "{0}\nLupine {1} ({2})  --  HPL-MxP: low-precision LU, FP64 solution\n{0}\n\n"
      "T/V    : W, process mapping (R, C), look-ahead depth, broadcast (0 1ring,\n"
      "         1 1ring-modified, 2 2ring, 3 2ring-modified, 4 long, 5 long-modified,\n"
      "         6 MPI_Ibcast), R1R1\n"
      "N      : order of the matrix A\n"
      "NB     : columns of a block\n"
      "P, Q   : rows and columns of the process grid\n"
      "Time   : seconds of factorization and refinement\n"
      "Gflops : (2/3 N^3 + 3/2 N^2) / Time / 10^9\n\n"
      "The following parameter values will be used:\n\n",
      double_rule, LUPINE_VERSION, LUPINE_REVISION);
  text += parameters(setup);
  std::vector<std::string> all = setup.notes;
  all.insert(all.end(), notes.begin(), notes.end());
  text += list("Notes:", all);
  text += fmt::format(
      "\n{}\n\n"
      "- The residual is computed in FP64 from A and b, generated anew:\n"
      "      ||Ax-b||_oo / ( eps * ( ||A||_oo * ||x||_oo + ||b||_oo ) * N )\n"
      "- The relative machine precision (eps) is taken to be               {:.6e}\n"
      "- Computational tests pass if scaled residuals are less than                {:.1f}\n\n",
      rule, 0x1p-53, 16.);
  return text;
}

std::string report_run(const Setup& setup, const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  std::vector<std::string> notes = r.notes;
  const auto known = [&](const std::string& note) {
    return std::find(setup.notes.begin(), setup.notes.end(), note) != setup.notes.end();
  };
  notes.erase(std::remove_if(notes.begin(), notes.end(), known), notes.end());
  return hpl_lines(run) + mxp_block(setup, r) + phase_table(setup, r) + convergence(r) +
         list("Notes on this run:", notes) + "\n";
}

std::string report_tail(int passed, int failed) {
  return fmt::format(
      "{0}\n\nFinished {1:6} tests with the following results:\n"
      "         {2:6} tests completed and passed residual checks,\n"
      "         {3:6} tests completed and failed residual checks,\n"
      "         {4:6} tests skipped because of illegal input values.\n{5}\n\n"
      "End of Tests.\n{0}\n",
      double_rule, passed + failed, passed, failed, 0, rule);
}

}  // namespace lupine
