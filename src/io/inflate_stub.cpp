// SPDX-License-Identifier: BSD-3-Clause
// What a build without zlib has in place of inflate.cpp.
#include "io/inflate.hpp"

namespace lupine {

bool has_zlib() {
  return false;
}

std::uint32_t crc32_of(std::uint32_t /*before*/, std::span<const std::byte> /*bytes*/) {
  throw UsageError(
      "this Lupine was built without zlib, which .npz files need; allowed: .npy, .mtx");
}

struct Inflater::Stream {};

Inflater::Inflater(const InputFile& file, const NpzArray& array) {
  throw array.error(file,
                    "is compressed, and this Lupine was built without zlib; allowed: arrays that "
                    "are not compressed, as numpy.savez writes them");
}

Inflater::~Inflater() = default;
void Inflater::read(std::int64_t /*offset*/, std::span<std::byte> /*bytes*/) {}
void Inflater::finish() {}

}  // namespace lupine
