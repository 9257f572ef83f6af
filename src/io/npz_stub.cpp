// SPDX-License-Identifier: BSD-3-Clause
// What a build without libzip has in place of npz_libzip.cpp.
#include "core/expects.hpp"
#include "io/npz.hpp"

namespace speedwell {

namespace {

[[noreturn]] void refuse() {
  throw UsageError(
      "this Speedwell was built without libzip, which .npz files need; allowed: .npy, .mtx");
}

}  // namespace

std::string version_of_libzip() {
  return "";
}

std::vector<NpzArray> read_members(const InputFile& /*file*/) {
  refuse();
}

struct NpzReader::Stream {};

NpzReader::NpzReader(const InputFile& /*file*/, const NpzArray& /*array*/) {
  refuse();
}

NpzReader::~NpzReader() = default;

void NpzReader::read(std::int64_t /*offset*/, std::span<std::byte> /*bytes*/) {
  SPEEDWELL_EXPECTS(stream_ != nullptr);  // there is no array that could be read
}

void NpzReader::finish() {}

void write_npz(const std::string& /*member*/, std::string_view /*npy*/,
               const std::function<void(std::string_view)>& /*write*/) {
  refuse();
}

}  // namespace speedwell
