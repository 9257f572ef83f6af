// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Files of matrices, right-hand sides and solutions: NumPy's .npy and .npz, and Matrix Market. The
/// content of a file that is read, not its name, decides its kind; the name of a file that is
/// written does. The name of a .npz file may end in ":NAME", the name of the array in it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "element/checksum.hpp"
#include "source/source.hpp"

namespace speedwell {

/// Opens a file as A and reads its header. The numbers are read in MatrixSource::fill(): each rank
/// reads its part of a .npy or .npz file; all ranks read a Matrix Market file together.
/// Collective.
/// @throws UsageError (every rank) that names the path, the line (of a text file), the error, and
///         what is allowed
Matrix open_matrix(const Communicator& all, const std::string& path);

/// Opens a file as b and reads all of it, each rank a share of the rows, so that errors in it are
/// found before anything is computed. The solution x is stored on rank 0, n x count. Collective.
/// @param n rows of A @param field that of A; a real b of a complex A is taken for a complex one
/// @throws UsageError (every rank), as open_matrix(), or unless b has n rows
RightHandSide open_right_hand_side(const Communicator& all, const std::string& path, std::int64_t n,
                                   Field field = Field::real);

enum class FileKind { numpy, npz, matrix_market };

/// The kind of file that the end of the path names: ".npy", ".npz" or ".mtx", in upper or lower
/// case. Nothing for any other end.
std::optional<FileKind> kind_by_name(const std::string& path);

/// @throws UsageError if the path names a kind of file that this build cannot write
void require_kind(const std::string& path);

struct SolutionFormat {
  FileKind kind = FileKind::matrix_market;
  bool vector = true;    ///< .npy, .npz: one dimension, if there is one right-hand side
  bool fortran = false;  ///< .npy, .npz of two dimensions: column-major ("Fortran order")
};

/// The format of x: that of the file of b, or without b (empty path) a vector in the kind of file
/// that A has, .npy for .npz. The kind that the path `x` names comes before that of b or A.
/// Collective. @throws UsageError (every rank)
SolutionFormat solution_format(const Communicator& all, const std::string& matrix,
                               const std::string& right_hand_side, const std::string& x);

/// Writes the whole of x, or no file. Matrix Market gets the shortest decimal form of each number
/// that reads back as the same number, and "nan" for a NaN; .npy gets the bytes of each number;
/// .npz gets a .npy named "x". Collective.
/// @param x column-major n x count, on rank 0; of complex elements in pairs
/// @param of_x its checksum; nothing: not known @throws Fault where x is another one by then
/// @throws UsageError (every rank) that names the path and the reason; an existing file with this
///         path is then unchanged
void write_solution(const Communicator& all, const std::string& path, const SolutionFormat& format,
                    std::int64_t n, std::int64_t count, const std::vector<double>& x,
                    Field field = Field::real, std::optional<MatrixChecksum> of_x = {});

}  // namespace speedwell
