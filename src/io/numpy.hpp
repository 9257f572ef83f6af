// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Headers of NumPy's .npy files, versions 1.0 to 3.0, of floating-point numbers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"

namespace lupine {

struct NumpyHeader {
  int item = 8;                     ///< bytes of a number: 8 (FP64), 4 (FP32); little-endian
  bool fortran = false;             ///< column-major
  std::vector<std::int64_t> shape;  ///< one or two dimensions, at least 1 each
  std::int64_t data = 0;            ///< offset of the first number

  std::int64_t rows() const { return shape.front(); }
  std::int64_t columns() const { return shape.size() == 1 ? 1 : shape.back(); }
};

/// What the first bytes of every .npy file are.
constexpr std::string_view numpy_magic{"\x93NUMPY"};

/// @throws UsageError unless the file is a header, of what is allowed, and as many numbers as it
///         says
NumpyHeader read_numpy_header(const InputFile& file);

/// The header of a file of FP64 numbers, all that stands before them.
std::string numpy_header(const std::vector<std::int64_t>& shape, bool fortran);

}  // namespace lupine
