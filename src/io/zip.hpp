// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The directory of a zip archive, with the 64-bit sizes of zip64.
/// Source: PKWARE, "APPNOTE.TXT - .ZIP File Format Specification", version 6.3.10 (2022).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/file.hpp"

namespace lupine {

/// The first bytes of every archive that is not empty.
constexpr std::string_view zip_magic{"PK\x03\x04"};
/// The first bytes of an empty archive.
constexpr std::string_view empty_zip_magic{"PK\x05\x06"};

/// A file in an archive.
struct ZipMember {
  std::string name;
  bool encrypted = false;
  int method = 0;           ///< of compression: 0 (none), 8 (deflate), or another of the source
  std::uint32_t crc = 0;    ///< CRC-32 of the content
  std::int64_t size = 0;    ///< bytes of the content
  std::int64_t packed = 0;  ///< bytes of the content in the archive
  std::int64_t header = 0;  ///< offset of its local header in the archive
};

/// Reads the members in the order of the archive's directory.
/// @throws UsageError unless the archive is whole and its directory has at most 64 MiB
std::vector<ZipMember> read_zip_directory(const InputFile& file);

/// Offset of the first byte of the member's content in the archive.
/// @throws UsageError unless all of the content lies in the file
std::int64_t content_offset(const InputFile& file, const ZipMember& member);

/// What stands before and after the content in an archive.
struct ZipFrame {
  std::string before;
  std::string after;
};

/// The frame of an archive with one member, which is not compressed: of zip64 where 32 bits do not
/// hold the sizes. Reads `name`, `crc` and `size` of the member.
ZipFrame zip_frame(const ZipMember& member);

}  // namespace lupine
