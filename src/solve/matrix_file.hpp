// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Files of matrices, right-hand sides and solutions: NumPy's .npy and Matrix Market. The content
/// of a file, not its name, decides its kind.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "solve/source.hpp"

namespace lupine {

/// Opens a file as A and reads its header. The numbers are read in MatrixSource::fill(): each rank
/// reads its part of a .npy file; all ranks read a Matrix Market file together. Collective.
/// @throws UsageError (every rank) that names the path, the line (of a text file), the error, and
///         what is allowed
Matrix open_matrix(const Communicator& all, const std::string& path);

/// Opens a file as b and reads all of it, each rank a share of the rows, so that errors in it are
/// found before anything is computed. The solution x is stored on rank 0, n x count. Collective.
/// @throws UsageError (every rank), as open_matrix()
RightHandSide open_right_hand_side(const Communicator& all, const std::string& path);

enum class FileKind { numpy, matrix_market };

struct SolutionFormat {
  FileKind kind = FileKind::matrix_market;
  bool vector = true;    ///< .npy: one dimension, if there is one right-hand side
  bool fortran = false;  ///< .npy of two dimensions: column-major ("Fortran order")
};

/// The format of x: that of the file of b, or without b (empty path) a vector in the kind of file
/// that A has. Collective. @throws UsageError (every rank)
SolutionFormat solution_format(const Communicator& all, const std::string& matrix,
                               const std::string& right_hand_side);

/// Writes the whole of x, or no file. Matrix Market gets the shortest decimal form of each number
/// that reads back as the same number; .npy gets the bytes of each number. Collective.
/// @param x column-major n x count, on rank 0
/// @throws UsageError (every rank) that names the path and the reason; an existing file with this
///         path is then unchanged
void write_solution(const Communicator& all, const std::string& path, const SolutionFormat& format,
                    std::int64_t n, std::int64_t count, const std::vector<double>& x);

}  // namespace lupine
