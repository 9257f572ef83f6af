// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Parts that several reports share, as text and as JSON.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.hpp"
#include "setup/peak_memory.hpp"

namespace speedwell {

constexpr std::string_view double_rule =
    "================================================================================";
constexpr std::string_view rule =
    "--------------------------------------------------------------------------------";

/// Speedwell's version and the title, between double rules.
std::string banner(std::string_view title);
/// "PREDICTED for h200 (not validated on a GPU): nothing was run", on a line of its own; empty for
/// a real machine.
std::string paper_line(const std::optional<Paper>& paper);
/// "LABEL      : value", followed by the reason if there is one.
std::string line(std::string_view label, const std::string& value, const std::string& reason = "");
/// Title and notes; empty if there are no notes.
std::string list(const char* title, const std::vector<std::string>& notes);
/// Number of ranks and nodes: "4 on 2 nodes, the first a". @param hosts host name of every rank
std::string ranks_text(const std::vector<std::string>& hosts);

/// Columns of a chunk, or "all" where one chunk holds all columns of a matrix of order n.
std::string chunk_text(std::int64_t chunk, std::int64_t n);

/// "scaled-diagonal, seed 1", or "fasi-higham, kappa 1000, rho 0.5; seed of b 2".
std::string matrix_text(const BenchmarkOptions& options);
/// When a stalled run is ended: "ended after 300 s of waiting", or "waited for without end" for 0.
std::string stall_text(double timeout);

/// The fields at the beginning of every document: schema, benchmark, version, date, hosts and
/// command line.
/// @param begin time at which the first run began
/// @param hosts host name of every rank
nlohmann::ordered_json json_origin(std::string_view benchmark, std::time_t begin,
                                   const std::vector<std::string>& hosts,
                                   const std::string& command_line);
/// "at most 0.31 GiB resident (rank 1 on a)", or "allocated" on devices that have their own memory,
/// if that is what was announced; empty where it was not measured.
std::string peak_text(const PeakMemory& peak, bool on_device,
                      const std::vector<std::string>& hosts);
/// The peaks of both kinds of memory with the ranks and their hosts; null what was not measured.
nlohmann::ordered_json json_of(const PeakMemory& peak, const std::vector<std::string>& hosts);
/// The number; null if it is not finite or not known.
nlohmann::ordered_json number_or_null(double value, bool known = true);
/// The index; null if it is negative.
nlohmann::ordered_json index_or_null(std::int64_t value);
/// The text; null if it is empty.
nlohmann::ordered_json text_or_null(const std::string& text);

}  // namespace speedwell
