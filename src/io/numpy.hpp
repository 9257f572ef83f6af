// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Headers and numbers of NumPy's .npy files of real and complex numbers, in versions 1.0 to 3.0 of
/// the format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/scalar.hpp"
#include "io/file.hpp"
#include "io/npz.hpp"

namespace speedwell {

/// The type of the elements in a .npy file: FP64, FP32, FP16, integers of 1, 2, 4 or 8 bytes, bool,
/// or complex numbers of FP64 or FP32, each a pair of numbers.
struct NumpyType {
  char kind = 'f';          ///< NumPy's letter: f (floating point), i (signed), u (unsigned), b
  int bytes = 8;            ///< of a number
  bool big_endian = false;  ///< whether the most significant byte comes first
  Field field = Field::real;

  std::int64_t element_bytes() const { return parts_of(field) * bytes; }

  bool operator==(const NumpyType&) const = default;
};

/// to <- the numbers in `from`, as FP64: exact, but for integers beyond 2^53, which are rounded to
/// nearest as by NumPy's astype(float64).
/// @pre `from` has type.bytes bytes for each number in `to`
void decode_numbers(const NumpyType& type, std::span<const std::byte> from, std::span<double> to);

struct NumpyHeader {
  NumpyType type;
  bool fortran = false;              ///< column-major order, else row-major
  std::vector<std::int64_t> shape;   ///< one or two dimensions, at least 1 each
  std::int64_t data = 0;             ///< offset of the first number in the .npy file
  std::optional<NpzArray> archived;  ///< set if the array is in a .npz file

  bool compressed() const { return archived && archived->compressed; }
  std::int64_t rows() const { return shape.front(); }
  std::int64_t columns() const { return shape.size() == 1 ? 1 : shape.back(); }
};

/// The first bytes of every .npy file.
constexpr std::string_view numpy_magic{"\x93NUMPY"};

/// Reads the header, and checks it against the size of the file.
/// @throws UsageError unless the file has a header with an allowed type and shape, and after it as
///         many numbers as the shape says
NumpyHeader read_numpy_header(const InputFile& file);
/// Reads the header of an array in a .npz file. @throws as above
NumpyHeader read_numpy_header(const InputFile& file, const NpzArray& array);

/// Longest dictionary of a header that is read, in bytes: the longest one of version 1.0.
constexpr std::int64_t longest_numpy_header = 65535;

/// All bytes before the elements of a file with FP64 numbers.
std::string numpy_header(const std::vector<std::int64_t>& shape, bool fortran,
                         Field field = Field::real);

}  // namespace speedwell
