// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrix Market files of real and complex matrices, read in parts.
/// Source: Boisvert, Pozo & Remington, "The Matrix Market Exchange Formats" (1996).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "io/file.hpp"

namespace speedwell {

enum class MarketFormat { array, coordinate };
enum class MarketField { real, integer, natural, pattern, complex };
enum class MarketSymmetry { general, symmetric, skew, hermitian };

struct MarketHeader {
  MarketFormat format = MarketFormat::array;
  MarketField field = MarketField::real;
  MarketSymmetry symmetry = MarketSymmetry::general;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;  ///< entries in the file; a symmetric one holds the lower triangle only
  std::int64_t body = 0;     ///< offset of the line after the line of sizes

  /// The numbers of an entry.
  std::int64_t parts() const { return field == MarketField::complex ? 2 : 1; }
};

/// The word with which a file begins, in upper or lower case.
constexpr std::string_view market_magic = "%%MatrixMarket";
/// Whether a file that begins so is one. As for SciPy, blanks may stand before the word, and one of
/// its two percent signs may be missing.
bool begins_as_market(std::string_view start);

/// Reads the banner, the comments and the line of sizes.
/// @throws UsageError that names path, line and what is allowed
MarketHeader read_market_header(const InputFile& file);

/// An entry a_ij; row and column are counted from 0. A complex entry (i, j) is two: its real part
/// in row 2 i, and its imaginary part in row 2 i + 1.
struct MarketEntry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  double value = 0;
};

/// The content of some lines: entries of a coordinate file; or values of an array file, whose rows
/// and columns follow from the number of values before them.
struct MarketPart {
  std::vector<MarketEntry> entries;
  std::vector<double> values;  ///< of a complex array file two for each entry

  /// Entries of the file.
  std::int64_t count(const MarketHeader& header) const {
    return static_cast<std::int64_t>(entries.size() + values.size()) / header.parts();
  }
};

/// Longest line that is read, in bytes.
constexpr std::int64_t longest_market_line = std::int64_t{1} << 20;

/// The content of the lines that begin in the bytes [begin, end) of the file, as it stands there:
/// the mirrored entries of a symmetric matrix are not added.
/// @throws UsageError that names the line with the error
MarketPart read_market_part(const InputFile& file, const MarketHeader& header, std::int64_t begin,
                            std::int64_t end);

/// Appends values of an array file to `entries`. The values of `first` entries stand before them in
/// the file. Values beyond the end of the array are left out.
void place_array_values(const MarketHeader& header, std::int64_t first,
                        const std::vector<double>& values, std::vector<MarketEntry>& entries);

}  // namespace speedwell
