// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Files with matrices and vectors, in a folder that all ranks can read.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "archive.hpp"
#include "folder.hpp"
#include "io/numpy.hpp"
#include "mpi/sources.hpp"
#include "source/matrix_file.hpp"

namespace speedwell::test {

namespace fs = std::filesystem;

/// A folder that rank 0 makes. It removes the folder after the destructor of every rank has begun.
class SharedFolder {
 public:
  explicit SharedFolder(const Communicator& all) : all_(all) {
    if (all.rank() == 0) mine_ = std::make_unique<Folder>("sources");
    path_ = text_of_rank_0(all, mine_ ? *mine_ / "" : "");
  }
  ~SharedFolder() {
    if (std::uncaught_exceptions() == 0) all_.barrier();
  }
  SharedFolder(const SharedFolder&) = delete;
  SharedFolder& operator=(const SharedFolder&) = delete;

  /// Writes a file on rank 0. Every rank may read it after the call.
  std::string file(const std::string& name, const std::string& content) const {
    all_.barrier();
    if (all_.rank() == 0) std::ofstream(path_ + name, std::ios::binary) << content;
    all_.barrier();
    return path_ + name;
  }
  std::string path(const std::string& name) const { return path_ + name; }
  std::ptrdiff_t files() const {
    all_.barrier();
    return std::distance(fs::directory_iterator(path_), fs::directory_iterator());
  }

 private:
  const Communicator& all_;
  std::unique_ptr<Folder> mine_;
  std::string path_;
};

/// NumPy's name of a type, such as "<f8".
template <class T>
std::string numpy_type(bool big_endian = false) {
  const std::string kind = std::is_same_v<T, bool>       ? "b"
                           : std::is_floating_point_v<T> ? "f"
                           : std::is_signed_v<T>         ? "i"
                                                         : "u";
  return (sizeof(T) == 1 ? "|" : big_endian ? ">" : "<") + kind + std::to_string(sizeof(T));
}

/// The content of a .npy file with rows x columns elements.
template <class T>
std::string npy(std::int64_t rows, std::int64_t columns, bool fortran, const Element& element,
                bool vector = false, bool big_endian = false) {
  std::vector<std::int64_t> shape{rows};
  if (!vector) shape.push_back(columns);
  std::string text = numpy_header(shape, fortran);
  text.replace(text.find("<f8"), 3, numpy_type<T>(big_endian));
  for (std::int64_t at = 0; at < rows * columns; ++at) {
    const std::int64_t i = fortran ? at % rows : at / columns;
    const std::int64_t j = fortran ? at / rows : at % columns;
    const T value = static_cast<T>(element(i, j));
    char bytes[sizeof(T)];
    std::memcpy(bytes, &value, sizeof(T));
    if (big_endian) std::reverse(bytes, bytes + sizeof(T));
    text.append(bytes, sizeof(T));
  }
  return text;
}

inline std::string number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

enum class Stored { none, symmetric, skew };

inline const char* symmetry(Stored half) {
  return half == Stored::none ? "general" : half == Stored::skew ? "skew-symmetric" : "symmetric";
}

/// Whether entry (i, j) is written to the file.
inline bool stands(Stored half, std::int64_t i, std::int64_t j) {
  return half == Stored::none || i > j || (i == j && half == Stored::symmetric);
}

inline double mirrored(Stored half, const Element& element, std::int64_t i, std::int64_t j) {
  if (half == Stored::none || i > j) return element(i, j);
  if (half == Stored::symmetric) return element(j, i);
  return i == j ? 0 : -element(j, i);
}

inline std::string array(std::int64_t rows, std::int64_t columns, Stored half,
                         const Element& element, const std::string& end = "\n") {
  std::string text = "%%MatrixMarket matrix array real " + std::string(symmetry(half)) + end +
                     "% comment" + end + std::to_string(rows) + " " + std::to_string(columns) + end;
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      if (stands(half, i, j)) text += number(element(i, j)) + end;
  return text;
}

inline bool is_entry(std::int64_t i, std::int64_t j) {
  return (i * 7 + j * 3) % 5 < 2;
}

/// The content of a coordinate file with some entries, the last row first. Each entry is written as
/// two that must be added.
inline std::string coordinates(std::int64_t n, Stored half, const Element& element) {
  std::string lines;
  std::int64_t count = 0;
  const auto add = [&](const std::string& place, double value) {
    lines += place + number(value) + "\n";
    ++count;
  };
  for (std::int64_t i = n; i-- > 0;)
    for (std::int64_t j = 0; j < n; ++j) {
      if (!is_entry(i, j) || !stands(half, i, j)) continue;
      const std::string place = std::to_string(i + 1) + " " + std::to_string(j + 1) + " ";
      add(place, element(i, j) - 8);
      add(place, 8);
    }
  return "%%MatrixMarket matrix coordinate real " + std::string(symmetry(half)) + "\n" +
         std::to_string(n) + " " + std::to_string(n) + " " + std::to_string(count) + "\n" + lines;
}

}  // namespace speedwell::test
