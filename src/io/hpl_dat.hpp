// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// HPL.dat, the file of 31 lines that names the runs of HPL.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lupine {

/// PFACT and RFACT: the order of the loops of a panel's factorization.
enum class PanelFactor { left, crout, right };

/// SWAP: how rows of the trailing matrix change places.
enum class RowSwap { binary_exchange, spread_roll, mixed };

/// What HPL.dat says, in the order of its lines. Lists have one value at least; p and q have the
/// same number, and belong together in pairs.
struct HplDat {
  std::string path;                        ///< of HPL.dat as the caller gave it, for messages
  std::string output_file;                 ///< line 3; empty if that line is
  int device_out = 6;                      ///< 6: standard output, 7: standard error, else the file
  std::vector<std::int64_t> n;             ///< >= 1
  std::vector<std::int64_t> nb;            ///< >= 1
  GridOrder order = GridOrder::row;        ///< PMAP
  std::vector<int> p, q;                   ///< >= 1
  double threshold = 16;                   ///< of the scaled residual; <= 0: it is not checked
  std::vector<PanelFactor> pfact;          ///< of columns no wider than nbmin
  std::vector<int> nbmin;                  ///< columns at which recursion ends, >= 1
  std::vector<int> ndiv;                   ///< parts that recursion divides a panel into, >= 2
  std::vector<PanelFactor> rfact;          ///< of the recursion
  std::vector<BroadcastMethod> broadcast;  ///< BCAST; 6 is ibcast
  std::vector<int> depth;                  ///< of the look-ahead, >= 0
  RowSwap swap = RowSwap::mixed;
  int swap_threshold = 64;    ///< columns at which `mixed` changes over
  bool l1_transposed = true;  ///< 0 in the file
  bool u_transposed = true;   ///< 0 in the file
  bool equilibration = true;
  int alignment = 8;  ///< of memory, in doubles
};

/// Reads the text of an HPL.dat; `path` is its name in messages.
///
/// Lines 1 and 2 are anybody's. Every other one is read from its beginning: the word, or as many
/// words as the count in the line before says. What follows is a comment, be it numbers, and so is
/// all after line 31. Words are divided by blanks and tabs. CRLF, a byte order mark and a last line
/// without an end are read too.
///
/// What HPL 2.3 does otherwise: it has no more than 20 values in a list, and 253 characters in a
/// line; allows n = 0; misreads values that stand more than one blank apart or after blanks; takes
/// "1e5" for 1, a missing value for 0 or the one before, and the last line for those that are not
/// there; and replaces in silence a choice that it does not know (BCAST 6 by 1ring-modified). Here
/// each of these is either read as written or refused. BCAST 6, which is MPI_Ibcast here, means
/// other things in HPL's offspring. A file for HPL 1.0, which has no line for PMAP, is refused.
/// @throws UsageError that names the path, the line, the word and what is allowed, in one line
HplDat parse_hpl_dat(std::string_view text, const std::string& path);

/// All of the file.
/// @throws UsageError if there is no such file or it cannot be read
std::string hpl_dat_text(const std::string& path);

/// The choices of HPL.dat that a program may have no use for.
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

/// What Lupine ignores where panels are factored by recursion: all but nbmin and ndiv.
std::span<const HplChoice> hpl_ignores();
/// What HPL-MxP ignores, which has no pivots and no recursion: all.
std::span<const HplChoice> mxp_ignores();

/// One sentence that names the lines of `ignored`, for a report; empty if there are none.
std::string ignored_lines(const HplDat& dat, std::span<const HplChoice> ignored);

/// One run of those that HPL.dat asks for.
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

/// All combinations in HPL's order. From the outermost loop to the innermost: grid (p and q
/// together), n, nb, depth, broadcast, rfact, pfact, nbmin, ndiv. Of a list that is `ignored`, the
/// first value stands for all, so that no run comes twice only for it.
/// @throws UsageError if there are more than a million
std::vector<HplRun> runs(const HplDat& dat, std::span<const HplChoice> ignored = {});

}  // namespace lupine
