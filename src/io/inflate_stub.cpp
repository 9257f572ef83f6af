// SPDX-License-Identifier: BSD-3-Clause
// What a build without zlib has in place of inflate.cpp.
#include "io/inflate.hpp"

#include "core/expects.hpp"

namespace lupine {

std::string version_of_zlib() {
  return "";
}

std::uint32_t crc32_of(std::uint32_t /*before*/, std::span<const std::byte> /*bytes*/) {
  throw UsageError(
      "this Lupine was built without zlib, which .npz files need; allowed: .npy, .mtx");
}

std::uint32_t crc32_share(std::span<const std::byte> piece, std::int64_t /*behind*/) {
  return crc32_of(0, piece);
}

struct Inflater::Stream {};

Inflater::Inflater(const InputFile& file, const NpzArray& array) {
  throw array.error(file,
                    "is compressed, and this Lupine was built without zlib; allowed: arrays that "
                    "are not compressed, as numpy.savez writes them");
}

Inflater::~Inflater() = default;

void Inflater::read(std::int64_t /*offset*/, std::span<std::byte> /*bytes*/) {
  LUPINE_EXPECTS(stream_ != nullptr);  // there is no Inflater that could be read
}

void Inflater::finish() {}

}  // namespace lupine
