// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The search for the configuration that is predicted to be the fastest. Pure: the caller gives the
/// function that predicts, and the clock.
#pragma once

#include <speedwell/options.hpp>

#include <string>
#include <vector>

#include "core/clock.hpp"
#include "paper/predicted.hpp"

namespace speedwell::paper {

struct SearchRequest {
  double budget = 300;           ///< seconds, outside of the simulation, after which none begins
  int processes = 1;             ///< predictions that run side by side
  bool broadcast_given = false;  ///< whether the user chose the broadcast; it has no open value
};

/// A value that the search varies.
enum class Choice { nb, grid, lookahead, chunk, broadcast, n };
constexpr int choice_count = 6;

/// A configuration that was predicted.
struct SearchTrial {
  BenchmarkOptions asked;  ///< with every varied value set; n may be 0: the largest that fits
  Predicted predicted;
};

/// Why a value was chosen, in one line.
struct SearchReason {
  Choice choice{};
  std::string text;  ///< "nb 3072: 2048 is 2.1 % slower, 4096 is 1.0 % slower"
};

struct SearchOutcome {
  std::vector<SearchTrial> trials;  ///< in their order; the first one has the default values
  std::size_t best = 0;             ///< of `trials`
  /// Trials are samples of the LU, since predictions of whole runs would take too long.
  bool sampled = false;
  bool complete = true;  ///< false: the budget ended before everything was tried
  std::vector<SearchReason> reasons;
  /// Of samples: whole runs of the fastest trials and of the first one, up to five, as far as they
  /// take half of the budget. The fastest of these is the best.
  std::vector<SearchTrial> whole;

  /// The configuration to recommend, with all values as they were chosen.
  const Predicted& chosen() const;
};

/// A rate that is higher by less than this part does not make a configuration better.
constexpr double search_margin = 0.001;

/// The seconds that a prediction is expected to take, outside of the simulation.
double simulation_seconds(int ranks, std::int64_t n, std::int64_t panel_width);

/// Looks for the highest predicted rate. It starts with what `asked` leaves open at its defaults
/// and changes one value at a time, in the order of Choice, to the best of its neighbours, until
/// no value is better: nb along 32, 64, 96, 128, 192, 256, ... (two steps to each side); P of the
/// grid along the divisors of the ranks (two to each side); look-ahead 0 and 1; chunk along
/// 256, 512, ... and all columns (two to each side); each broadcast; n at 0.9, 0.75 and 0.5 of the
/// largest. What `asked` gives stays. No configuration is predicted twice. Without an end by the
/// budget the outcome depends on the arguments alone.
/// @throws UsageError if the first configuration is refused
SearchOutcome search(const Scenario& scenario, const BenchmarkOptions& asked,
                     const SearchRequest& request, const Predict& predict, const Clock& clock);

}  // namespace speedwell::paper
