// SPDX-License-Identifier: BSD-3-Clause
#include "app/command_options.hpp"

#include <fmt/format.h>

#include <utility>

#include "app/output.hpp"

namespace speedwell {

namespace {

/// Options of the matrix's distribution and of panels' broadcasts. The targets are single values,
/// or lists as in HPL.dat.
template <class Nb, class Processes, class Depth, class Broadcast>
Options layout_options(Nb& nb, Processes& p, Processes& q, GridOrder& order, Depth& depth,
                       Broadcast& broadcast) {
  return {
      number("--nb", "Block size, also -NB (default: by device and size)", nb),
      number("-P,--nprow", "Rows of the process grid (default: squarest grid)", p),
      number("-Q,--npcol", "Columns of the process grid", q),
      choice("--nporder", "Numbering of ranks over the grid (default row)", order),
      number("--lookahead", "Panels factored ahead (default: by device and size)", depth),
      choice("--bcast", "Broadcast of panels (default 1ring-modified)", broadcast),
  };
}

Options layout_options(RunOptions& run) {
  return layout_options(run.nb, run.nprow, run.npcol, run.order, run.lookahead, run.broadcast);
}

/// The options of both benchmarks for values that HPL.dat gives too.
Options dat_options(HplDat& dat) {
  Options all = {number("-N,--n", "Order of the matrix (default: the largest that fits)", dat.n)};
  append(all, layout_options(dat.nb, dat.p, dat.q, dat.order, dat.depth, dat.broadcast));
  return all;
}

/// Options of pivoted panels. The targets are single values, or lists as in HPL.dat.
template <class Numbers>
Options panel_options(Numbers& leaf, Numbers& ndiv) {
  return {
      number("--nbmin", "With pivoting: columns at which a panel's recursion ends (default 16)",
             leaf),
      number("--ndiv", "With pivoting: parts into which recursion divides a panel (default 2)",
             ndiv),
  };
}

Option precision_option(BenchmarkOptions& o) {
  return choice("--precision,--sloppy-type",
                "Precision of the LU's update (default auto; 2 means fp16)", o.precision,
                "auto, fp16, bf16, fp16x3, fp32");
}

Options refinement_options(RefineMethod& refine, int& max_iterations) {
  return {
      choice("--refine", "Refinement of the solution (default auto)", refine),
      number("--max-iterations", "Corrections allowed (default 50)", max_iterations),
  };
}

Option benchmark_matrix(BenchmarkOptions& o) {
  return choice("--matrix", "Matrix to solve with (default scaled-diagonal)", o.matrix);
}

/// A benchmark's matrix, or one of the gallery.
Option any_matrix(Arguments& a) {
  const std::string allowed = fmt::format("{}, {}", allowed_names<MatrixKind>(), gallery_list());
  return {"--matrix", "NAME",
          "Matrix to solve with, a benchmark's or, from gaussian on, a user's (default "
          "scaled-diagonal): " +
              allowed,
          allowed, [&a, allowed](const std::string& text) {
            const auto kind = parse<MatrixKind>(text);
            a.compare.gallery = gallery_kind(text);
            if (!kind && !a.compare.gallery) reject("--matrix", text, allowed);
            if (kind) a.options.matrix = *kind;
          }};
}

/// Options of HPL-MxP alone, without the precision. @param matrix the option of the matrix
Options low_precision_options(BenchmarkOptions& o, Option matrix) {
  Options all = {
      std::move(matrix),
      number("--kappa", "fasi-higham: condition number (default 1000)", o.kappa),
      number("--rho", "fasi-higham: alpha / beta (default 0.5)", o.rho),
      choice("--pivot,--pivoting", "Exchange of rows (default none)", o.pivoting),
  };
  append(all, refinement_options(o.refine, o.max_iterations));
  return all;
}

Option stall_option(RunOptions& o) {
  return number("--stall-timeout",
                fmt::format("Seconds that a rank may wait for others before all are ended, with "
                            "status 3 (default {:g}; 0: no limit)",
                            default_stall_timeout),
                o.stall_timeout);
}

Options place_options(RunOptions& o) {
  return {
      choice("--device", "Where to compute (default auto: GPUs if every rank sees one)", o.device),
      choice("--comm", "How panels travel between GPUs (default auto)", o.comm),
      number("--gpus", "GPUs by node-local rank, in turn, such as 0,1 (default: all)", o.gpus),
      number("--reserve", "Multiprocessors that a GPU's updates leave to panels (default by work)",
             o.reserve),
      choice("--fp64", "FP64 products of a GPU's updates (default native; not of HPL-MxP)", o.fp64),
      number("--threads", "Threads a rank (default: its share of the cores)", o.threads),
      stall_option(o),
  };
}

Option memory_option(BenchmarkOptions& o) {
  return number("--memory-fraction",
                "Without -N: part of the free memory that a run may take (default 0.8; GPUs 0.95)",
                o.memory_fraction);
}

Option chunk_option(RunOptions& o) {
  return number("--chunk", "Columns that an update takes at a time (default: by device and size)",
                o.chunk);
}

Options machine_options(BenchmarkOptions& o) {
  Options all = {
      number("--seed", "Seed of the random matrix (default 1)", o.seed),
      chunk_option(o.run),
  };
  append(all, place_options(o.run));
  return all;
}

/// Options by which n is chosen.
Options sizing_options(BenchmarkOptions& o) {
  return {number("--time-target", "Without -N: seconds that a run (bench: both runs) may take",
                 o.time_target),
          memory_option(o)};
}

Option profile_option(Arguments& arguments) {
  return file("--profile",
              "Profile of tunings and rates, or none (default: in the user's configuration folder)",
              arguments.profile);
}

Option blas_option(Arguments& arguments) {
  return file("--blas",
              "Library whose BLAS and LAPACK is called (default: SPEEDWELL_BLAS, or OpenBLAS)",
              arguments.blas);
}

Option json_option(Arguments& arguments) {
  return file("--json",
              "Write the report as JSON too; to standard output by -, and the text to standard "
              "error",
              arguments.json);
}

Options monitor_options(MonitorArguments& monitor) {
  Options all = {
      number("--monitor",
             "Sample GPUs and processors beside the run, every so many seconds, 1 where no number "
             "follows (default: not)",
             monitor.seconds),
      number("--monitor-temperature", "Warn once of each GPU that is hotter, in C (default: not)",
             monitor.temperature),
      number("--monitor-clock",
             "Warn once of each GPU that works at a lower SM clock, in MHz (default: not)",
             monitor.clock),
      number("--monitor-power", "Warn once of each GPU that takes more power, in W (default: not)",
             monitor.power)};
  all.front().usual = "1";
  return all;
}

Options run_options(Arguments& arguments) {
  return {number("--repeat", "Runs (default 1)", arguments.repeat), json_option(arguments),
          file("--trace", "Write what every rank did when, as a Chrome trace (Perfetto opens it)",
               arguments.trace),
          profile_option(arguments), blas_option(arguments)};
}

Options dat_option(Arguments& arguments) {
  return {file("-i,--dat",
               "HPL.dat to read (default: one in the current folder, unless an option is given for "
               "a value in it)",
               arguments.dat)};
}

Option benchmark_choice(std::vector<Benchmark>& target) {
  const std::string allowed = "mxp, hpl, both";
  return {"--benchmark", "NAME", "What to tune (default mxp): " + allowed, allowed,
          [&target, allowed](const std::string& text) {
            const auto one = parse<Benchmark>(text);
            if (!one && text != "both") reject("--benchmark", text, allowed);
            target = one ? std::vector{*one} : std::vector{Benchmark::mxp, Benchmark::hpl};
          }};
}

Option hpl_nb_option(Arguments& a) {
  return number("--hpl-nb", "HPL's block size (default: by size)", a.hpl_nb);
}

/// A number of right-hand sides; 0 stands for n, the order of the matrix.
Option rhs_option(const std::string& where, std::int64_t& target) {
  const std::string allowed = range_text<int>(range_of("rhs")) + ", or n: as many as the order";
  return {"--rhs", "NUMBER", where + "right-hand sides, or n: as many as the order (default 1)",
          allowed, [&target, allowed](const std::string& text) {
            const auto value = text == "n" ? std::optional(0) : number<int>(text);
            if (!value || (text != "n" && !is_in(range_of("rhs"), *value)))
              reject("--rhs", text, allowed);
            target = *value;
          }};
}

std::optional<SolverKind> read_solver(std::string_view word) {
  for (const SolverTraits& one : solver_table)
    if (one.name == word) return one.solver;
  return std::nullopt;
}

Option submission_option(Arguments& a) {
  Option option = file("--submission",
                       "Write what lists and competitions ask for into a new folder", a.submission);
  option.placeholder = "FOLDER";
  option.allowed = "a new or empty folder";
  return option;
}

/// Options of `speedwell compare` that no other command has, or that differ from those of others.
Options contest_options(Arguments& a) {
  const std::string several = "; or several, separated by commas";
  const std::string solvers = "mxp, solve, hpl, dgesv, dsgesv, dgesvx, dgesvxx";
  const std::string precisions = "fp16, bf16, fp16x3, fp32";
  return {
      number("-N,--n", "Orders of the matrix, one after the other (default 8192)", a.orders),
      rhs_option("With a user's matrix: ", a.compare.rhs),
      list("--solvers",
           "Solvers to compare, with a user's matrix neither mxp nor hpl (default all that are "
           "allowed, dgesvx with a user's matrix, dgesvxx with --accuracy alone): " +
               solvers,
           solvers + several, a.compare.solvers, read_solver),
      list(
          "--precision,--sloppy-type", "Precisions of HPL-MxP's update (default bf16,fp16,fp32)",
          precisions + several, a.compare.precisions,
          [precisions](const std::string& word) { return read_name<Precision>(word, precisions); }),
      hpl_nb_option(a),
      number("--repeat", "Rounds; every solver runs once in each (default 3)", a.repeat),
      json_option(a),
  };
}

}  // namespace

Options tune_options(Arguments& a) {
  BenchmarkOptions& o = a.options;
  Options all = {
      number("--budget", "Seconds for the search, of all benchmarks together (default 60)",
             a.budget),
      benchmark_choice(a.tuned),
      number("-N,--n", "Order of the matrix (default: by the budget)", o.n),
      number("-P,--nprow", "Rows of the process grid (default: squarest grid)", o.run.nprow),
      number("-Q,--npcol", "Columns of the process grid", o.run.npcol),
      choice("--nporder", "Numbering of ranks over the grid (default row)", o.run.order),
      number("--try-nb", "Block sizes to time once each, instead of a search", a.tried.nb),
      number("--try-chunk", "Chunks to time once each, instead of a search", a.tried.chunk),
      choice("--precision,--sloppy-type", "Precision of HPL-MxP's update (default auto)",
             o.precision, "auto, fp16, bf16, fp16x3, fp32"),
      choice("--pivot,--pivoting", "Exchange of rows in HPL-MxP (default none)", o.pivoting),
      json_option(a),
      file("--profile", "Profile to write, or none (default: in the user's configuration folder)",
           a.profile),
      blas_option(a),
  };
  append(all, place_options(o.run));
  all.push_back(memory_option(o));
  return all;
}

Options mxp_options(Arguments& a) {
  Options all = dat_option(a);
  append(all, dat_options(a.choices));
  all.push_back(precision_option(a.options));
  append(all, low_precision_options(a.options, benchmark_matrix(a.options)));
  append(all, panel_options(a.choices.nbmin, a.choices.ndiv));
  append(all, machine_options(a.options));
  append(all, sizing_options(a.options));
  append(all, run_options(a));
  append(all, monitor_options(a.monitor));
  return all;
}

Options hpl_options(Arguments& a) {
  Options all = dat_option(a);
  append(all, dat_options(a.choices));
  append(all, panel_options(a.choices.nbmin, a.choices.ndiv));
  all.push_back(number("--threshold",
                       "Limit of the scaled residual; 0 or less: no check (default 16)",
                       a.choices.threshold));
  append(all, machine_options(a.options));
  append(all, sizing_options(a.options));
  append(all, run_options(a));
  append(all, monitor_options(a.monitor));
  return all;
}

Options bench_options(Arguments& a) {
  Options all = {
      number("-N,--n", "Order of the matrix (default: the largest that fits)", a.options.n)};
  append(all, layout_options(a.options.run));
  all.push_back(number(
      "--hpl-n", "Order of HPL's matrix (default: HPL-MxP's, or the largest that fits)", a.hpl_n));
  all.push_back(hpl_nb_option(a));
  all.push_back(precision_option(a.options));
  append(all, low_precision_options(a.options, benchmark_matrix(a.options)));
  append(all, panel_options(a.options.leaf, a.options.ndiv));
  append(all, machine_options(a.options));
  append(all, sizing_options(a.options));
  append(all, run_options(a));
  all.push_back(submission_option(a));
  append(all, monitor_options(a.monitor));
  return all;
}

Options compare_options(Arguments& a) {
  Options all = contest_options(a);
  append(all, layout_options(a.options.run));
  append(all, low_precision_options(a.options, any_matrix(a)));
  append(all, panel_options(a.options.leaf, a.options.ndiv));
  append(all, machine_options(a.options));
  append(all, {profile_option(a), blas_option(a)});
  append(all, monitor_options(a.monitor));
  return all;
}

Options solve_options(Arguments& a) {
  SolveArguments& own = a.solve;
  SolveOptions& o = own.options;
  Options all = {
      file("-o,--output",
           "File to write x to: .npy, .npz or .mtx; by any other name in the format of b's file "
           "(without b: of A's)",
           own.x),
      choice("--precision", "Precision of the LU's update (default auto: the cheapest that solves)",
             o.precision),
      choice("--first",
             "Precision of the first step, with --precision auto (default auto: by cost)", o.first),
  };
  append(all, refinement_options(o.refine, o.max_iterations));
  all.push_back(
      number("--tolerance",
             "Componentwise backward error that x must have (default max(4, sqrt(n)) 2^-53)",
             o.tolerance));
  all.push_back(
      on_off("--equilibrate", "Scale rows and columns first (default on)", o.equilibrate));
  all.push_back(
      choice("--condition",
             "Estimate condition and forward errors (default on; full: with all errors of each of "
             "many right-hand sides)",
             o.condition));
  all.push_back(choice("--accuracy",
                       "What is refined: the backward error of x, or x to its last digit; "
                       "certified: with proven bounds; auto: forward where it is cheap "
                       "(default auto)",
                       o.accuracy));
  all.push_back(number("--probe-seed",
                       "Seed of the random vectors that judge A and x (default: another in each "
                       "process)",
                       o.probe_seed));
  append(all, layout_options(o.run));
  all.push_back(chunk_option(o.run));
  append(all, place_options(o.run));
  all.push_back(json_option(a));
  all.push_back(file("--report", "Write the report as text to a file too", own.report));
  append(all, {profile_option(a), blas_option(a)});
  append(all, monitor_options(a.monitor));
  return all;
}

Options check_options(Arguments& a) {
  RunOptions& run = a.options.run;
  Options all = {
      number("--seconds", "Seconds that it may take, about (default 20)", a.check.seconds),
      number("--limit",
             "Percent by which a figure may be worse than the median, or than in the baseline "
             "(default 2)",
             a.check.tolerance),
      file("--baseline", "Compare with an earlier check, by the file of its --json",
           a.check.baseline),
      number("-P,--nprow", "Rows of the process grid (default: squarest grid)", run.nprow),
      number("-Q,--npcol", "Columns of the process grid", run.npcol),
      choice("--nporder", "Numbering of ranks over the grid (default row)", run.order),
      choice("--device", "What to check (default auto: GPUs if every rank sees one)", run.device),
      choice("--comm", "How messages travel between GPUs (default auto)", run.comm),
      number("--gpus", "GPUs by node-local rank, in turn, such as 0,1 (default: all)", run.gpus),
      number("--threads", "Threads a rank (default: its share of the cores)", run.threads),
      stall_option(run),
      json_option(a),
      blas_option(a),
  };
  return all;
}

Options predict_options(Arguments& a) {
  PredictArguments& p = a.predict;
  return {
      {"--machine", "NAME|FILE", "Machine to simulate: a machine file, or a shipped machine",
       "a machine file, or the name of a machine",
       [&p](const std::string& text) { p.machine = text; }},
      number("--ranks", "Ranks (default: P x Q, or as many as the machine has)", p.ranks),
      number("--corrections", "Corrections of the refinement (default 3)", p.corrections),
  };
}

Options predict_solve_options(Arguments& a) {
  PredictArguments& p = a.predict;
  const std::string precisions = "bf16, fp16, fp16x3, fp32, fp64";
  Options all = predict_options(a);
  append(all,
         {number("-N,--n", "Order of A", p.n), rhs_option("Number of ", p.rhs),
          flag("--complex", "A and b are complex", [&p] { p.complex = true; }),
          list("--precision",
               "Precisions of the LU's update (default: those that the machine has rates for): " +
                   precisions,
               precisions + "; or several, separated by commas", p.precisions,
               [precisions](const std::string& word) {
                 return read_name<Precision>(word, precisions);
               })});
  append(all, layout_options(a.options.run));
  all.push_back(chunk_option(a.options.run));
  append(all, place_options(a.options.run));
  all.push_back(json_option(a));
  return all;
}

Options info_options(Arguments& a) {
  Option json = file("--json",
                     "Write all of it as JSON too; by -, or where no file follows, JSON alone to "
                     "standard output",
                     a.json);
  json.usual = standard_output;
  return {std::move(json)};
}

Options calibrate_options(Arguments& a) {
  return {
      file("--calibrate", "Measure this machine's GPUs, and write its machine file",
           a.predict.calibrate),
      number("--budget", "With --calibrate: seconds that it may take, about (default 60)",
             a.predict.seconds),
      choice("--device", "With --calibrate: what is measured, which must be GPUs (default auto)",
             a.options.run.device),
      stall_option(a.options.run)};
}

}  // namespace speedwell
