// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Arrays in NumPy's .npz files, which are zip archives of .npy files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/file.hpp"
#include "io/zip.hpp"

namespace lupine {

/// A path with or without the name of an array, as users give them: "A.npz:a".
struct ArrayPath {
  std::string path;
  std::optional<std::string> array;  ///< nothing: no name is given
};

/// Splits "A.npz:a" into the path and the name: at the last colon before which there is the path of
/// a regular file. Where `name` itself is the path of a file, or no part of it is, it is the path.
ArrayPath split_array_path(const std::string& name);

/// Whether a file that begins so is a zip archive, as .npz files are.
bool is_zip(std::string_view start);

/// A .npy file in a .npz file.
struct NpzArray {
  ZipMember member;
  std::int64_t begin = 0;  ///< offset of its (compressed) bytes in the .npz file

  bool compressed() const { return member.method != 0; }
  /// An error about this array, in one line: "'A.npz:a' <words>".
  UsageError error(const InputFile& file, const std::string& words) const;
};

/// The array of that name, with or without ".npy"; without a name the only array in the file.
/// @throws UsageError that names the arrays in the file, or says why this one cannot be read
NpzArray find_array(const InputFile& file, const std::optional<std::string>& name);

}  // namespace lupine
