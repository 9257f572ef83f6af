// SPDX-License-Identifier: BSD-3-Clause
#include "setup/options_check.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/matrix_traits.hpp"
#include "core/option_range.hpp"
#include "core/option_text.hpp"

namespace speedwell {

namespace {

void require(bool allowed, const std::string& what, const std::string& range) {
  if (!allowed) throw UsageError(fmt::format("{} is not allowed; allowed: {}", what, range));
}

/// The option as the command has it: "--stall-timeout".
std::string on_command_line(std::string_view option) {
  std::string name = fmt::format("--{}", option);
  std::ranges::replace(name, '_', '-');
  return name;
}

void check(std::string_view option, const std::vector<int>& values);

template <class Value>
void check(std::string_view option, const Value& value) {
  const auto what = [&] {
    return fmt::format("{} {}", on_command_line(option), option_text(value));
  };
  if constexpr (std::is_enum_v<Value>) {
    require(name(value) != "?", what(), allowed_names<Value>());
  } else if constexpr (!std::is_same_v<Value, bool>) {
    const OptionRange& range = range_of(option);
    if (is_allowed(range, value)) return;
    require(false, what(),
            range_text<Value>(range) +
                (range.open ? fmt::format(", or {}: Speedwell chooses", *range.open) : ""));
  }
}

void check(std::string_view option, const std::vector<int>& values) {
  for (const int value : values) check(option, value);
}

template <class Options>
void check_each(const Options& options) {
  for_each_option(options,
                  [](std::string_view option, const auto& value) { check(option, value); });
}

void check_grid(const RunOptions& o, int ranks) {
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

// HPL's precision and matrix are fixed, so their options are not read.
void check_matrix(const BenchmarkOptions& o) {
  if (o.benchmark == Benchmark::hpl) return;
  require(o.precision != Precision::fp64, "--precision fp64", "auto, fp16, bf16, fp16x3, fp32");
  const MatrixTraits& matrix = traits_of(o.matrix);
  require(!matrix.needs_pivoting || o.pivoting == Pivoting::partial,
          fmt::format("--matrix {} without --pivot partial", matrix.name),
          "with it, or " + matrices_where(&MatrixTraits::needs_pivoting, false));
}

}  // namespace

void check_ranges(const SolveOptions& options) {
  check_each(options);
}

void check_run_options(const RunOptions& o, int ranks) {
  check_each(o);
  check_grid(o, ranks);
}

void check_problem(const BenchmarkOptions& o) {
  check_each(o);
  require(o.benchmark == Benchmark::hpl || o.run.fp64 == Fp64Products::native,
          "--fp64 emulated for HPL-MxP or in a comparison with FP64",
          "native; emulated in hpl, solve and tune --benchmark hpl");
  check_matrix(o);
}

}  // namespace speedwell
