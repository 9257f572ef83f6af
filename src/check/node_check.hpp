// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell check`: whether all ranks and nodes of a job are as fast as the others, and alike.
#pragma once

#include <speedwell/options.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "core/outliers.hpp"
#include "setup/machine.hpp"

namespace speedwell {

/// A device of a rank. A process alone checks all GPUs that it may use: then rank 0 has several.
struct CheckedPlace {
  int rank = 0;
  std::string host;
  std::string device;  ///< "GPU 5"; "cpu"
};

/// A quantity that is measured at every place.
struct CheckedFigure {
  std::string name;                  ///< "update bf16"
  std::string unit;                  ///< "GFLOP/s"
  Better better = Better::higher;    ///< which values are good ones
  std::vector<double> values{};      ///< of every place; NaN: not measured there
  std::vector<double> deviations{};  ///< Spread::deviation of every place's rounds
};

/// What should be the same at every place.
struct CheckedFact {
  std::string name;                   ///< "MPI"
  std::vector<std::string> values{};  ///< of every place; empty: not known there
};

/// A figure that is worse than usual, or a fact that differs from that of most places.
struct Finding {
  std::size_t place = 0;
  std::string words;  ///< one line, without the place: "update bf16 11.2 % below the median ..."
};

/// All that a check has found; equal on every rank.
struct NodeCheck {
  MachineFacts machine;
  std::vector<CheckedPlace> places;
  std::vector<CheckedFigure> figures;
  std::vector<CheckedFact> facts;
  std::vector<Finding> errors;   ///< serious ones that drivers have counted
  std::vector<Finding> notices;  ///< others
  double seconds = 0;            ///< that it took
};

/// Measures all ranks at the same time: the rate of the update in the precision that a run would
/// choose and that of FP64 products, the bandwidth of the device's memory, latency and bandwidth of
/// messages to the neighbours in the process grid by the run's transport, and free memory. Products
/// and memory are judged by all that was done in the time, not by the fastest round, so that a rank
/// which stands still now and then is slow. Of its two neighbours in a process row or column, a
/// rank's figure is that of the better connection: a bad node is bad with both.
/// Collective.
/// @param seconds about how long the measurements take
/// @param admit is called before a machine is measured, and may refuse it by an exception: the same
///        one on every rank
/// @throws UsageError, AgreedFault as Machine does, and where memory is short
NodeCheck check_nodes(
    CommHandle comm, const RunOptions& options, double seconds,
    const std::function<void(const MachineFacts&)>& admit = [](const auto&) {});

/// What stands out: figures beyond the limits, facts that differ from those of most places, and
/// serious errors.
std::vector<Finding> findings_of(const NodeCheck& check, const OutlierLimits& limits);

/// "update bf16 11.2 % below the median (812 against 915 GFLOP/s)". @param of_what "the median"
std::string worse_text(const CheckedFigure& figure, double value, double usual,
                       const std::string& of_what);
/// "rank 37 on node12, GPU 5"
std::string text_of(const CheckedPlace& place);

}  // namespace speedwell
