// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Headers of NumPy's .npy files with floating-point numbers, in versions 1.0 to 3.0 of the format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"

namespace lupine {

struct NumpyHeader {
  int item = 8;                     ///< bytes of a number: 8 (FP64), 4 (FP32); little-endian
  bool fortran = false;             ///< column-major order, else row-major
  std::vector<std::int64_t> shape;  ///< one or two dimensions, at least 1 each
  std::int64_t data = 0;            ///< offset of the first number

  std::int64_t rows() const { return shape.front(); }
  std::int64_t columns() const { return shape.size() == 1 ? 1 : shape.back(); }
};

/// The first bytes of every .npy file.
constexpr std::string_view numpy_magic{"\x93NUMPY"};

/// Reads the header, and checks it against the size of the file.
/// @throws UsageError unless the file has a header with an allowed type and shape, and after it as
///         many numbers as the shape says
NumpyHeader read_numpy_header(const InputFile& file);

/// All bytes before the numbers of a file with FP64 numbers.
std::string numpy_header(const std::vector<std::int64_t>& shape, bool fortran);

}  // namespace lupine
