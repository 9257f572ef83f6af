// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrices and right-hand sides in files, NumPy's .npy and Matrix Market; solutions written. What
/// kind a file is, its content says, not its name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "solve/source.hpp"

namespace lupine {

/// A file that is to be A: opened, and its header read. Its numbers are read when A is filled, by
/// each rank its own (.npy), or by all ranks in turns (Matrix Market). Collective.
/// @throws UsageError (every rank) that names the path, the line where there is one, what is wrong
///         and what is allowed
Matrix open_matrix(const Communicator& all, const std::string& path);

/// The same for b, which is read at once, each rank a share of its rows: what is wrong in it is
/// known before anything is computed. x: on rank 0, n x count.
RightHandSide open_right_hand_side(const Communicator& all, const std::string& path);

enum class FileKind { numpy, matrix_market };

struct SolutionFormat {
  FileKind kind = FileKind::matrix_market;
  bool vector = true;    ///< .npy of one dimension, if there is one right-hand side
  bool fortran = false;  ///< .npy of two dimensions: column-major
};

/// The form of x: that of b; without a b (empty path), a vector in A's kind of file. Collective.
/// @throws UsageError (every rank)
SolutionFormat solution_format(const Communicator& all, const std::string& matrix,
                               const std::string& right_hand_side);

/// Writes x, column-major n x count on rank 0, whole or not at all: every number as the shortest
/// decimals that are read back as the same (Matrix Market), or as it is (.npy). Collective.
/// @throws UsageError (every rank) that names the path and the reason; an old file is then
/// unchanged
void write_solution(const Communicator& all, const std::string& path, const SolutionFormat& format,
                    std::int64_t n, std::int64_t count, const std::vector<double>& x);

}  // namespace lupine
