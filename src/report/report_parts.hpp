// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What reports have in common, as text and as JSON.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace lupine {

constexpr std::string_view double_rule =
    "================================================================================";
constexpr std::string_view rule =
    "--------------------------------------------------------------------------------";

/// Which Lupine this is, and the title, between double rules.
std::string banner(std::string_view title);
/// "LABEL      : value", with the reason where it was chosen.
std::string line(std::string_view label, const std::string& value, const std::string& reason = "");
/// Title and notes, or nothing where there are none.
std::string list(const char* title, const std::vector<std::string>& notes);
/// "4 on 2 nodes, the first a". @param hosts of every rank
std::string ranks_text(const std::vector<std::string>& hosts);

/// "all" where one chunk holds all columns of a matrix of order n.
std::string chunk_text(std::int64_t chunk, std::int64_t n);

/// "scaled-diagonal, seed 1", or "fasi-higham, kappa 1000, rho 0.5; seed of b 2".
std::string matrix_text(const BenchmarkOptions& options);
/// "after 300 s of waiting", or that it never ends for it.
std::string stall_text(double timeout);

/// What every document begins with.
/// @param begin of the first run
/// @param hosts of every rank
nlohmann::ordered_json json_origin(std::string_view benchmark, std::time_t begin,
                                   const std::vector<std::string>& hosts,
                                   const std::string& command_line);
/// null for what is not finite, or not known.
nlohmann::ordered_json number_or_null(double value, bool known = true);
/// null for what is below 0.
nlohmann::ordered_json index_or_null(std::int64_t value);
/// null for what is empty.
nlohmann::ordered_json text_or_null(const std::string& text);

}  // namespace lupine
