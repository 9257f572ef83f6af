// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The list of all options with their names. The comparison of options between ranks, the JSON
/// output and the reports are made from this list, so that none of them forgets an option.
///
/// Each function unpacks its whole struct, so a new field does not compile until it is listed here.
/// Another struct of options needs its own for_each_option, declared beside that struct.
#pragma once

#include <speedwell/options.hpp>

#include <concepts>
#include <type_traits>

namespace speedwell {

/// `Options` is `Struct`, const or not.
template <class Options, class Struct>
concept OptionsOf = std::same_as<std::remove_const_t<Options>, Struct>;

/// Calls visit(name, value) for every option, in the order of the reports. The names are those in
/// JSON: the names of the command's options, with '_' in place of '-'.
template <OptionsOf<RunOptions> Options, class Visit>
void for_each_option(Options& options, const Visit& visit) {
  auto& [nb, order, nprow, npcol, lookahead, broadcast, chunk, device, comm, gpus, reserve, fp64,
         threads, stall_timeout] = options;
  visit("nb", nb);
  visit("nporder", order);
  visit("nprow", nprow);
  visit("npcol", npcol);
  visit("lookahead", lookahead);
  visit("bcast", broadcast);
  visit("chunk", chunk);
  visit("device", device);
  visit("comm", comm);
  visit("gpus", gpus);
  visit("reserve", reserve);
  visit("fp64", fp64);
  visit("threads", threads);
  visit("stall_timeout", stall_timeout);
}

/// Visits the options of the run, then those of the benchmarks.
template <OptionsOf<BenchmarkOptions> Options, class Visit>
void for_each_option(Options& options, const Visit& visit) {
  auto& [run, benchmark, n, precision, pivoting, leaf, ndiv, matrix, kappa, rho, seed, refine,
         max_iterations, threshold, memory_fraction, time_target] = options;
  for_each_option(run, visit);
  visit("benchmark", benchmark);
  visit("n", n);
  visit("precision", precision);
  visit("pivoting", pivoting);
  visit("nbmin", leaf);
  visit("ndiv", ndiv);
  visit("matrix", matrix);
  visit("kappa", kappa);
  visit("rho", rho);
  visit("seed", seed);
  visit("refine", refine);
  visit("max_iterations", max_iterations);
  visit("threshold", threshold);
  visit("memory_fraction", memory_fraction);
  visit("time_target", time_target);
}

/// Visits the options of the run, then those of solve.
template <OptionsOf<SolveOptions> Options, class Visit>
void for_each_option(Options& options, const Visit& visit) {
  auto& [run, precision, first, refine, tolerance, max_iterations, equilibrate, condition, strict,
         accuracy, probe_seed] = options;
  for_each_option(run, visit);
  visit("precision", precision);
  visit("first", first);
  visit("refine", refine);
  visit("tolerance", tolerance);
  visit("max_iterations", max_iterations);
  visit("equilibrate", equilibrate);
  visit("condition", condition);
  visit("strict", strict);
  visit("accuracy", accuracy);
  visit("probe_seed", probe_seed);
}

}  // namespace speedwell
