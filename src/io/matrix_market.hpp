// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrix Market files of real matrices, read in parts.
/// Source: Boisvert, Pozo & Remington, "The Matrix Market Exchange Formats" (1996).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/file.hpp"

namespace lupine {

enum class MarketFormat { array, coordinate };
enum class MarketField { real, integer, pattern };
enum class MarketSymmetry { general, symmetric, skew };

struct MarketHeader {
  MarketFormat format = MarketFormat::array;
  MarketField field = MarketField::real;
  MarketSymmetry symmetry = MarketSymmetry::general;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;  ///< how many follow; of a symmetric matrix only the lower triangle's
  std::int64_t body = 0;     ///< offset of the line behind the line of sizes
};

/// What every file begins with, in letters of any size.
constexpr std::string_view market_magic = "%%MatrixMarket";

/// @throws UsageError that names path, line and what is allowed
MarketHeader read_market_header(const InputFile& file);

/// a_ij, 0-based.
struct MarketEntry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  double value = 0;
};

/// The entries of some lines: those of a coordinate file, or an array's values, whose places follow
/// from how many stand before them.
struct MarketPart {
  std::vector<MarketEntry> entries;
  std::vector<double> values;

  std::int64_t count() const { return static_cast<std::int64_t>(entries.size() + values.size()); }
};

/// Longest line that is read.
constexpr std::int64_t longest_market_line = std::int64_t{1} << 20;

/// The entries as they stand in the lines that begin in the bytes [begin, end) of the file.
/// @throws UsageError with the line of what is wrong
MarketPart read_market_part(const InputFile& file, const MarketHeader& header, std::int64_t begin,
                            std::int64_t end);

/// Appends an array's values as entries; `first` values stand before them. Those beyond the array
/// are left out.
void place_array_values(const MarketHeader& header, std::int64_t first,
                        const std::vector<double>& values, std::vector<MarketEntry>& entries);

}  // namespace lupine
