// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Zip archives for tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace speedwell::test {

/// A member of an archive; `method` and `flags` as the archive shall say.
struct Packed {
  std::string name;
  std::string content;
  int method = 0;  ///< 8: deflate, whose blocks are not compressed
  int flags = 0;
  std::uint32_t crc_error = 0;  ///< added to the check sum
  std::int64_t size_error = 0;  ///< added to the size of the content
};

inline std::string little(std::int64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i) & 0xff);
  return text;
}

/// The CRC-32 of a zip archive, bit by bit.
inline std::uint32_t crc32(const std::string& content) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : content) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc % 2 == 1 ? 0xedb88320 : 0);
  }
  return ~crc;
}

/// The content in the form of deflate (RFC 1951), in blocks that are not compressed.
inline std::string deflated(const std::string& content) {
  constexpr std::size_t longest = 1000;
  std::string text;
  std::size_t at = 0;
  do {
    const std::string part = content.substr(at, longest);
    at += part.size();
    const auto size = static_cast<std::int64_t>(part.size());
    text += little(at == content.size() ? 1 : 0, 1) + little(size, 2) + little(~size, 2) + part;
  } while (at < content.size());
  return text;
}

/// An archive of these members. @param zip64 whether all sizes are in the fields of zip64
/// @param base bytes of the file before the archive
inline std::string archive(const std::vector<Packed>& members, bool zip64 = false,
                           std::int64_t base = 0) {
  constexpr std::int64_t full = 0xffffffff;
  std::string text;
  std::string directory;
  for (const Packed& member : members) {
    const std::string bytes = member.method == 8 ? deflated(member.content) : member.content;
    const std::int64_t packed = std::ssize(bytes);
    const std::int64_t size = std::ssize(member.content) + member.size_error;
    const std::int64_t offset = base + std::ssize(text);
    const std::int64_t crc = crc32(member.content) + member.crc_error;
    const std::string sizes =
        zip64 ? little(full, 4) + little(full, 4) : little(packed, 4) + little(size, 4);
    const auto common = [&](const std::string& extra) {
      return little(20, 2) + little(member.flags, 2) + little(member.method, 2) + little(0, 4) +
             little(crc, 4) + sizes + little(std::ssize(member.name), 2) +
             little(std::ssize(extra), 2);
    };
    const std::string other = "\x07\x70" + little(3, 2) + "abc";  // a field that nobody knows
    const std::string wide = zip64 ? little(1, 2) + little(24, 2) + little(size, 8) +
                                         little(packed, 8) + little(offset, 8)
                                   : "";
    for (const std::string& part :
         {std::string("PK\x03\x04"), common(other), member.name, other, bytes})
      text.append(part);
    for (const std::string& part :
         {std::string("PK\x01\x02"), little(20, 2), common(other + wide), little(0, 2),
          little(0, 8), little(zip64 ? full : offset, 4), member.name, other, wide})
      directory.append(part);
  }
  const std::int64_t place = base + std::ssize(text);
  const std::int64_t length = std::ssize(directory);
  const std::int64_t count = std::ssize(members);
  text += directory;
  if (zip64)
    text += "PK\x06\x06" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) +
            little(count, 8) + little(count, 8) + little(length, 8) + little(place, 8) +
            "PK\x06\x07" + little(0, 4) + little(place + length, 8) + little(1, 4);
  return text + "PK\x05\x06" + little(0, 4) + little(zip64 ? 0xffff : count, 2) +
         little(zip64 ? 0xffff : count, 2) + little(zip64 ? full : length, 4) +
         little(zip64 ? full : place, 4) + little(0, 2);
}

}  // namespace speedwell::test
