// SPDX-License-Identifier: BSD-3-Clause
#include "io/inflate.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <vector>

#include "core/expects.hpp"

namespace lupine {

std::string version_of_zlib() {
  return ::zlibVersion();
}

std::uint32_t crc32_of(std::uint32_t before, std::span<const std::byte> bytes) {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t crc32_share(std::span<const std::byte> piece, std::int64_t behind) {
  static_assert(sizeof(z_off_t) == sizeof behind);
  return static_cast<std::uint32_t>(::crc32_combine(crc32_of(0, piece), 0, behind));
}

struct Inflater::Stream {
  const InputFile& file;
  NpzArray array;
  z_stream zlib{};
  std::vector<std::byte> packed = std::vector<std::byte>(std::size_t{1} << 18);
  std::int64_t taken = 0;  // packed bytes that have been read
  std::int64_t at = 0;     // offset of the next byte of the content
  bool ended = false;      // whether the content has no more bytes
  std::uint32_t crc = 0;

  UsageError damaged(std::string_view what) const {
    return array.error(file,
                       fmt::format("is damaged: {}; allowed: a whole compressed array", what));
  }

  void refill() {
    const std::int64_t left = array.member.packed - taken;
    const std::span part =
        std::span(packed).first(static_cast<std::size_t>(std::min(left, std::ssize(packed))));
    file.read(array.begin + taken, part);
    taken += std::ssize(part);
    zlib.next_in = reinterpret_cast<Bytef*>(part.data());
    zlib.avail_in = static_cast<uInt>(part.size());
  }

  /// Fills at most `bytes`; returns how many it filled: fewer only at the end of the content.
  std::size_t fill(std::span<std::byte> bytes) {
    LUPINE_EXPECTS(bytes.size() <= std::numeric_limits<uInt>::max());
    zlib.next_out = reinterpret_cast<Bytef*>(bytes.data());
    zlib.avail_out = static_cast<uInt>(bytes.size());
    int status = Z_OK;
    while (zlib.avail_out > 0 && !ended && status == Z_OK) {
      if (zlib.avail_in == 0) refill();
      if (zlib.avail_in == 0) throw damaged("its compressed bytes end too early");
      status = ::inflate(&zlib, Z_NO_FLUSH);
      ended = status == Z_STREAM_END;
    }
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK && !ended) throw damaged("its bytes are not those of the method deflate");
    const std::size_t filled = bytes.size() - zlib.avail_out;
    crc = crc32_of(crc, bytes.first(filled));
    at += static_cast<std::int64_t>(filled);
    return filled;
  }

  /// Fills `bytes` in pieces that zlib can count.
  void require(std::span<std::byte> bytes) {
    constexpr std::size_t piece = std::size_t{1} << 30;
    for (; !bytes.empty(); bytes = bytes.subspan(std::min(piece, bytes.size())))
      if (const auto part = bytes.first(std::min(piece, bytes.size())); fill(part) < part.size())
        throw damaged(
            fmt::format("it inflates to {} bytes and should to {}", at, array.member.size));
  }

  void skip(std::int64_t count) {
    std::vector<std::byte> unused(
        static_cast<std::size_t>(std::min<std::int64_t>(count, std::int64_t{1} << 16)));
    for (; count > 0; count -= std::min(count, std::ssize(unused)))
      require(
          std::span(unused).first(static_cast<std::size_t>(std::min(count, std::ssize(unused)))));
  }
};

// -15: the largest window, and deflate without a header of zlib's own.
Inflater::Inflater(const InputFile& file, const NpzArray& array)
    : stream_(new Stream{file, array}) {
  if (::inflateInit2(&stream_->zlib, -15) != Z_OK) throw std::bad_alloc();
}

Inflater::~Inflater() {
  ::inflateEnd(&stream_->zlib);
}

void Inflater::read(std::int64_t offset, std::span<std::byte> bytes) {
  LUPINE_EXPECTS(offset >= stream_->at);
  stream_->skip(offset - stream_->at);
  stream_->require(bytes);
}

void Inflater::finish() {
  const ZipMember& member = stream_->array.member;
  stream_->skip(member.size - stream_->at);
  std::byte more{};
  if (stream_->fill({&more, 1}) > 0)
    throw stream_->damaged(fmt::format("it inflates to more than {} bytes", member.size));
  if (stream_->crc != member.crc) throw stream_->damaged("its check sum (CRC-32) differs");
}

}  // namespace lupine
