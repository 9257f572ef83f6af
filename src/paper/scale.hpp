// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Weak scaling, simulated: runs on several numbers of ranks, each rank with the same memory. Pure.
#pragma once

#include <speedwell/options.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "paper/predicted.hpp"

namespace speedwell::paper {

/// The cases of a table of weak scaling, one for each number of ranks. Without a given n, each n is
/// the largest that fits; else it is n sqrt(ranks / ranks.front()), rounded: n^2 of a rank stays.
/// @throws UsageError if the machine has fewer ranks, or the list is empty
std::vector<Case> scale_cases(const Scenario& scenario, const BenchmarkOptions& asked,
                              const std::vector<int>& ranks);

/// flop/s of the update's product alone on one rank, at the shape of its first update,
/// n/P x n/Q x panel width (OperationModel::seconds).
double product_rate(const DeviceModel& device, const BenchmarkOptions& chosen,
                    std::int64_t panel_width);

/// A line of the table. Where a run was refused, all numbers but `ranks` are NaN.
struct ScaleRow {
  int ranks = 1;
  Predicted predicted;
  double teraflops = 0;        ///< the score, in TFLOP/s
  double a_rank = 0;           ///< the score of a rank, in TFLOP/s
  double product = 0;          ///< the rate of a rank's products alone, in TFLOP/s
  double lu_efficiency = 0;    ///< the rate of the LU over that of the products
  double efficiency = 0;       ///< the score over the rate of the products
  double weak_efficiency = 0;  ///< the score of a rank over that in the first line that has one
};

/// @pre as many predictions as cases, in their order
std::vector<ScaleRow> scale_rows(const std::vector<Case>& cases,
                                 const std::vector<Predicted>& predicted);

std::string scale_text(const Scenario& scenario, const BenchmarkOptions& asked,
                       const std::vector<ScaleRow>& rows);
nlohmann::ordered_json scale_json(const Scenario& scenario, const BenchmarkOptions& asked,
                                  const std::vector<ScaleRow>& rows);
/// A gnuplot script, with its data, that writes an SVG to standard output: TFLOP/s a rank against
/// the ranks (log2), of the score, of the LU and of the products.
/// @throws UsageError if every run was refused
std::string scale_plot(const Scenario& scenario, const std::vector<ScaleRow>& rows);

}  // namespace speedwell::paper
