// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The content of a compressed member of a zip archive, and check sums of members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "io/file.hpp"
#include "io/npz.hpp"

namespace lupine {

/// The version of zlib; empty where this build has none, and what follows throws UsageError.
std::string version_of_zlib();
inline bool has_zlib() {
  return !version_of_zlib().empty();
}

/// The CRC-32 of some bytes and `bytes` behind them. @param before the CRC-32 of the bytes before;
/// 0 if there are none
std::uint32_t crc32_of(std::uint32_t before, std::span<const std::byte> bytes);

/// What a piece adds to the CRC-32 of a longer content, which is the exclusive or of what all its
/// pieces add. @param behind bytes of the content behind the piece
std::uint32_t crc32_share(std::span<const std::byte> piece, std::int64_t behind);

/// Inflates the content from its beginning to its end, in little memory (RFC 1951, by zlib).
class Inflater {
 public:
  /// @param file must live as long as this
  /// @throws UsageError if this build has no zlib
  Inflater(const InputFile& file, const NpzArray& array);
  ~Inflater();
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  /// Fills `bytes` with the content from `offset` on. @pre no byte from there on has been read
  /// @throws UsageError if the content is damaged or ends before; Fault if it cannot be read
  void read(std::int64_t offset, std::span<std::byte> bytes);
  /// Inflates what has not been read, and checks the size and the CRC-32 of the whole content.
  /// @throws as read()
  void finish();

 private:
  struct Stream;

  std::unique_ptr<Stream> stream_;
};

}  // namespace lupine
