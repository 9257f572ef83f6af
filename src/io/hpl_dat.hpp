// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// HPL.dat, the file of 31 lines that names the runs of HPL.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace speedwell {

/// PFACT and RFACT: the order of the loops of a panel's factorization.
enum class PanelFactor { left, crout, right };

/// SWAP: how rows of the trailing matrix change places.
enum class RowSwap { binary_exchange, spread_roll, mixed };

/// The content of an HPL.dat, in the order of its lines. Each list has at least one value; p and q
/// are equally long, and (p[i], q[i]) is a grid.
struct HplDat {
  std::string path;                        ///< of HPL.dat as the caller gave it, for messages
  std::string output_file;                 ///< line 3; may be empty
  int device_out = 6;                      ///< 6: standard output, 7: standard error, else the file
  std::vector<std::int64_t> n;             ///< >= 1
  std::vector<std::int64_t> nb;            ///< >= 1
  GridOrder order = GridOrder::row;        ///< PMAP
  std::vector<int> p, q;                   ///< >= 1
  double threshold = 16;                   ///< of the scaled residual; <= 0: no check
  std::vector<PanelFactor> pfact;          ///< for parts of a panel of at most nbmin columns
  std::vector<int> nbmin;                  ///< columns at which recursion ends, >= 1
  std::vector<int> ndiv;                   ///< parts into which recursion divides a panel, >= 2
  std::vector<PanelFactor> rfact;          ///< for the recursion
  std::vector<BroadcastMethod> broadcast;  ///< BCAST; 6 is ibcast
  std::vector<int> depth;                  ///< of the look-ahead, >= 0
  RowSwap swap = RowSwap::mixed;
  int swap_threshold = 64;    ///< columns at which `mixed` changes its method
  bool l1_transposed = true;  ///< 0 in the file
  bool u_transposed = true;   ///< 0 in the file
  bool equilibration = true;
  int alignment = 8;  ///< of memory, in doubles

  /// The file that gets the report too; empty: none.
  std::string report_file() const { return device_out == 6 || device_out == 7 ? "" : output_file; }
};

/// Reads the text of an HPL.dat; `path` is its name in messages.
///
/// Lines 1 and 2 may hold any text. Each other line is read from its beginning: one word, or as
/// many words as the count in the line before it says. The text after these words is a comment,
/// even if it is a number; so is everything after line 31. Blanks and tabs divide words. Lines that
/// end with CRLF, a byte order mark, and a last line without an end are read too.
///
/// HPL 2.3 differs. It allows at most 20 values in a list, and 253 characters in a line; it allows
/// n = 0; it misreads values that stand after blanks or more than one blank apart; it takes "1e5"
/// for 1, a missing value for 0 or for the value before it, and the last line for lines that are
/// missing; and it replaces an unknown choice without a message (BCAST 6 by 1ring-modified). Here
/// each of these is read as written, or refused. BCAST 6 is MPI_Ibcast here; programs derived from
/// HPL give it other meanings. A file for HPL 1.0, which has no line for PMAP, is refused.
/// @throws UsageError that names the path, the line, the word and what is allowed, in one line
HplDat parse_hpl_dat(std::string_view text, const std::string& path);

/// The choices as options have them: lists of one value, which may be open.
HplDat choices_of(const BenchmarkOptions& options);

/// Makes the lists of P and Q equally long: beside several values, the one value 0 stays open.
/// @throws UsageError
void pair_grids(HplDat& dat);

/// The text of an HPL.dat with these choices: parse_hpl_dat() reads them again, and HPL 2.3 reads
/// it too. @pre each list has 1 to 20 values
std::string text_of_dat(const HplDat& dat);

/// The text of the file.
/// @throws UsageError if there is no such file or it cannot be read
std::string hpl_dat_text(const std::string& path);

/// The choices of HPL.dat that may have no effect here.
enum class HplChoice {
  pfact,
  nbmin,
  ndiv,
  rfact,
  swap,
  swap_threshold,
  l1,
  u,
  equilibration,
  alignment
};

/// The choices without effect on runs with pivoting, whose panels are factored by recursion: all
/// but nbmin and ndiv.
std::span<const HplChoice> hpl_ignores();
/// The choices without effect on runs without pivoting, which have no recursion: all.
std::span<const HplChoice> mxp_ignores();

/// A sentence for a report that names the lines of the choices in `ignored`; empty if there are
/// none.
std::string ignored_lines(const HplDat& dat, std::span<const HplChoice> ignored);

/// One of the runs that HPL.dat asks for.
struct HplRun {
  std::int64_t n = 0;
  std::int64_t nb = 0;
  GridOrder order = GridOrder::row;
  int p = 0;
  int q = 0;
  int depth = 0;
  BroadcastMethod broadcast = BroadcastMethod::ring;
  PanelFactor rfact = PanelFactor::right;
  PanelFactor pfact = PanelFactor::right;
  int nbmin = 0;
  int ndiv = 0;

  bool operator==(const HplRun&) const = default;
};

/// All combinations of values, in HPL's order. From the outermost loop to the innermost: grid (p
/// and q together), n, nb, depth, broadcast, rfact, pfact, nbmin, ndiv. Of a list in `ignored` only
/// the first value is used, since the other values would repeat the same runs.
/// @throws UsageError if there are more than a million
std::vector<HplRun> runs(const HplDat& dat, std::span<const HplChoice> ignored = {});

}  // namespace speedwell
