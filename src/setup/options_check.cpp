// SPDX-License-Identifier: BSD-3-Clause
#include "setup/options_check.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <cmath>
#include <limits>

#include "core/matrix_traits.hpp"

namespace lupine {

namespace {

void require(bool allowed, const std::string& what, const std::string& range) {
  if (!allowed) throw UsageError(fmt::format("{} is not allowed; allowed: {}", what, range));
}

template <class Number>
void require_range(const char* option, Number value, Number from, Number to) {
  require(from <= value && value <= to, fmt::format("{} {}", option, value),
          fmt::format("{} to {}", from, to));
}

void check_grid(const RunOptions& o, int ranks) {
  constexpr int any = std::numeric_limits<int>::max();
  require_range("-P/--nprow", o.nprow, 0, any);
  require_range("-Q/--npcol", o.npcol, 0, any);
  if (o.nprow != 0 && o.npcol != 0) {
    if (std::int64_t{o.nprow} * o.npcol != ranks)
      throw UsageError(
          fmt::format("-P {} x -Q {} is {} ranks, but {} run; allowed: P x Q = number of ranks",
                      o.nprow, o.npcol, std::int64_t{o.nprow} * o.npcol, ranks));
  } else if (const int given = o.nprow + o.npcol; given != 0 && ranks % given != 0) {
    throw UsageError(
        fmt::format("{} {} does not divide the {} ranks that run; allowed: P x Q = "
                    "number of ranks",
                    o.nprow != 0 ? "-P" : "-Q", given, ranks));
  }
}

void check_pivoting(const BenchmarkOptions& o) {
  require_range("--nbmin", o.leaf, 0, largest_leaf);
  require_range("--ndiv", o.parts, 2, largest_parts);
}

// HPL's precision and matrix are fixed, so their options are not read.
void check_matrix(const BenchmarkOptions& o) {
  if (o.benchmark == Benchmark::hpl) return;
  require(o.precision != Precision::fp64, "--precision fp64", "auto, fp16, bf16, fp16x3, fp32");
  const MatrixTraits& matrix = traits_of(o.matrix);
  require(!matrix.needs_pivoting || o.pivoting == Pivoting::partial,
          fmt::format("--matrix {} without --pivot partial", matrix.name),
          "with it, or " + matrices_where(&MatrixTraits::needs_pivoting, false));
  if (!matrix.tunable) return;
  require(o.kappa > 1 && std::isfinite(o.kappa), fmt::format("--kappa {}", o.kappa),
          "a number above 1");
  require(o.rho > 0 && o.rho <= 1, fmt::format("--rho {}", o.rho), "above 0, at most 1");
}

}  // namespace

void check_run_options(const RunOptions& o, int ranks) {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  require_range("-NB/--nb", o.nb, std::int64_t{0}, any);
  check_grid(o, ranks);
  require_range("--lookahead", o.lookahead, -1, largest_lookahead);
  require_range("--chunk", o.chunk, std::int64_t{0}, any);
  require_range("--threads", o.threads, 0, largest_threads);
  require_range("--reserve", o.reserve, -1, largest_reserve);
  for (const int gpu : o.gpus) require_range("--gpus", gpu, 0, std::numeric_limits<int>::max());
  require(o.stall_timeout >= 0 && std::isfinite(o.stall_timeout),
          fmt::format("--stall-timeout {}", o.stall_timeout), "seconds, at least 0");
}

void check_problem(const BenchmarkOptions& o) {
  require_range("-N/--n", o.n, std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
  check_pivoting(o);
  require(o.benchmark == Benchmark::hpl || o.run.fp64 == Fp64Products::native,
          "--fp64 emulated for HPL-MxP or in a comparison with FP64",
          "native; emulated in hpl, solve and tune --benchmark hpl");
  check_matrix(o);
  require_range("--max-iterations", o.max_iterations, 1, std::numeric_limits<int>::max());
  require(std::isfinite(o.threshold), fmt::format("--threshold {}", o.threshold), "a number");
  require(o.memory_fraction >= 0 && o.memory_fraction <= 1,
          fmt::format("--memory-fraction {}", o.memory_fraction), "above 0, at most 1");
  require(o.time_target >= 0 && std::isfinite(o.time_target),
          fmt::format("--time-target {}", o.time_target), "seconds, above 0");
}

}  // namespace lupine
