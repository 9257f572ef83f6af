// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Every option by its name. What is compared between ranks, written to JSON and reported is made
/// of this list, so that no option is forgotten in one of them.
///
/// Each function unpacks its struct whole: a field without a place here does not compile. To give a
/// struct of options of another kind the same, declare a for_each_option of its own beside it.
#pragma once

#include <lupine/options.hpp>

#include <concepts>
#include <type_traits>

namespace lupine {

/// Options, const or not.
template <class Options, class Struct>
concept OptionsOf = std::same_as<std::remove_const_t<Options>, Struct>;

/// Calls visit(name, value) for every option, in the order of reports. Names are those of JSON: the
/// command's long options, with '_' for '-'.
template <OptionsOf<RunOptions> Options, class Visit>
void for_each_option(Options& options, const Visit& visit) {
  auto& [nb, order, nprow, npcol, lookahead, broadcast, chunk, device, comm, gpus, reserve, threads,
         stall_timeout] = options;
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
  visit("threads", threads);
  visit("stall_timeout", stall_timeout);
}

/// Those of the run first.
template <OptionsOf<BenchmarkOptions> Options, class Visit>
void for_each_option(Options& options, const Visit& visit) {
  auto& [run, benchmark, n, precision, pivoting, leaf, parts, matrix, kappa, rho, seed, refine,
         max_iterations, threshold, memory_fraction, time_target] = options;
  for_each_option(run, visit);
  visit("benchmark", benchmark);
  visit("n", n);
  visit("precision", precision);
  visit("pivoting", pivoting);
  visit("nbmin", leaf);
  visit("ndiv", parts);
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

/// Those of the run first.
template <OptionsOf<SolveOptions> Options, class Visit>
void for_each_option(Options& options, const Visit& visit) {
  auto& [run, precision, refine, tolerance, max_iterations, equilibrate, condition] = options;
  for_each_option(run, visit);
  visit("precision", precision);
  visit("refine", refine);
  visit("tolerance", tolerance);
  visit("max_iterations", max_iterations);
  visit("equilibrate", equilibrate);
  visit("condition", condition);
}

}  // namespace lupine
