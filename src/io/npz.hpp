// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Arrays in NumPy's .npz files, which are zip archives of .npy files: read and written by libzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"

namespace speedwell {

/// The version of libzip; empty where this build has none, and .npz files are refused.
std::string version_of_libzip();
inline bool has_libzip() {
  return !version_of_libzip().empty();
}

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
  std::string member;       ///< its name in the archive
  std::uint64_t index = 0;  ///< in the archive's directory
  std::int64_t size = 0;    ///< bytes of the .npy file
  bool compressed = false;

  /// The name by which users know it: without ".npy".
  std::string_view name() const;
  /// An error about this array, in one line: "'A.npz:a' <words>".
  UsageError error(const InputFile& file, const std::string& words) const;
};

/// All members of the archive, in the order of its directory.
/// @throws UsageError unless the archive is whole, or if this build has no libzip; Fault if it
///         cannot be read
std::vector<NpzArray> read_members(const InputFile& file);

/// The array of that name, with or without ".npy"; without a name the only array in the file.
/// @throws UsageError that names the arrays in the file; as read_members()
NpzArray find_array(const InputFile& file, const std::optional<std::string>& name);

/// Reads a .npy file in an archive, in little memory.
class NpzReader {
 public:
  /// @param file must live as long as this
  /// @throws UsageError if the array is encrypted, or compressed in an unknown way; Fault
  NpzReader(const InputFile& file, const NpzArray& array);
  ~NpzReader();
  NpzReader(const NpzReader&) = delete;
  NpzReader& operator=(const NpzReader&) = delete;

  /// Fills `bytes` with the .npy file's from `offset` on.
  /// @pre the array is not compressed, or no byte from there on has been read
  /// @throws UsageError if the array is damaged or ends before; Fault if it cannot be read
  void read(std::int64_t offset, std::span<std::byte> bytes);
  /// Reads on to the end, and checks size and CRC-32 of an array of which nothing was left out.
  /// @throws as read()
  void finish();

 private:
  struct Stream;

  std::unique_ptr<Stream> stream_;
};

/// Writes an archive piece by piece that holds the .npy file alone, not compressed. Needs the
/// memory of its bytes. @throws UsageError if this build has no libzip
void write_npz(const std::string& member, std::string_view npy,
               const std::function<void(std::string_view)>& write);

}  // namespace speedwell
