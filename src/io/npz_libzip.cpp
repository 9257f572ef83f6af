// SPDX-License-Identifier: BSD-3-Clause
// What libzip does for .npz files.
#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <array>
#include <limits>
#include <new>

#include "core/expects.hpp"
#include "io/npz.hpp"

namespace speedwell {

namespace {

using Archive = std::unique_ptr<zip_t, decltype(&zip_discard)>;
using Member = std::unique_ptr<zip_file_t, decltype(&zip_fclose)>;

constexpr std::size_t piece = std::size_t{1} << 18;  // bytes that are read at once

/// An error of libzip in words, where the file's content is to blame.
/// @throws std::bad_alloc, Fault where it is not
std::string blame(const InputFile& file, zip_error_t& error) {
  const std::string words = zip_error_strerror(&error);
  const int code = zip_error_code_zip(&error);
  if (code == ZIP_ER_MEMORY) throw std::bad_alloc();
  if (code == ZIP_ER_READ) throw Fault(fmt::format("cannot read '{}': {}", file.path(), words));
  return code == ZIP_ER_NOPASSWD ? "it is encrypted" : words;
}

Archive open(const InputFile& file) {
  int code = ZIP_ER_OK;
  // The file that is open, whatever stands at its path by now.
  const std::string path = fmt::format("/proc/self/fd/{}", file.descriptor());
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code), zip_discard);
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string words = blame(file, error);
  zip_error_fini(&error);
  throw file.error(
      fmt::format("is a damaged zip archive: {}; allowed: a whole archive in one file", words));
}

void require_memory(bool succeeded) {
  if (!succeeded) throw std::bad_alloc();
}

}  // namespace

std::string version_of_libzip() {
  return zip_libzip_version();
}

std::vector<NpzArray> read_members(const InputFile& file) {
  constexpr std::uint64_t largest = std::numeric_limits<std::int64_t>::max();
  const Archive archive = open(file);
  std::vector<NpzArray> members;
  const auto count = static_cast<std::uint64_t>(zip_get_num_entries(archive.get(), 0));
  for (std::uint64_t i = 0; i < count; ++i) {
    zip_stat_t status;
    if (zip_stat_index(archive.get(), i, ZIP_FL_ENC_RAW, &status) != 0)
      throw file.error("is a damaged zip archive: " + blame(file, *zip_get_error(archive.get())));
    members.push_back({status.name, i,
                       static_cast<std::int64_t>(std::min<std::uint64_t>(status.size, largest)),
                       status.comp_method != ZIP_CM_STORE});
  }
  return members;
}

struct NpzReader::Stream {
  const InputFile& file;
  NpzArray array;
  Archive archive;
  Member member;
  std::int64_t at = 0;  // offset of the next byte

  UsageError error(const std::string& words) const {
    return array.error(file, "cannot be unpacked: " + words +
                                 "; allowed: a whole array, as numpy.savez and "
                                 "numpy.savez_compressed write it");
  }

  /// Fills `bytes`, and returns how many: fewer only at the end of the array.
  std::size_t fill(std::span<std::byte> bytes) {
    std::size_t filled = 0;
    while (filled < bytes.size()) {
      const std::span rest = bytes.subspan(filled);
      const zip_int64_t count = zip_fread(member.get(), rest.data(), rest.size());
      if (count < 0) throw error(blame(file, *zip_file_get_error(member.get())));
      if (count == 0) break;
      filled += static_cast<std::size_t>(count);
    }
    at += static_cast<std::int64_t>(filled);
    return filled;
  }
  void require(std::span<std::byte> bytes) {
    if (fill(bytes) < bytes.size())
      throw error(fmt::format("it ends after {} bytes and should have {}", at, array.size));
  }
};

NpzReader::NpzReader(const InputFile& file, const NpzArray& array)
    : stream_(new Stream{file, array, open(file), {nullptr, zip_fclose}}) {
  zip_t* archive = stream_->archive.get();
  stream_->member.reset(zip_fopen_index(archive, array.index, 0));
  if (!stream_->member) throw stream_->error(blame(file, *zip_get_error(archive)));
}

NpzReader::~NpzReader() = default;

void NpzReader::read(std::int64_t offset, std::span<std::byte> bytes) {
  Stream& stream = *stream_;
  SPEEDWELL_EXPECTS(!stream.array.compressed || offset >= stream.at);
  if (!stream.array.compressed && offset != stream.at) {
    if (zip_fseek(stream.member.get(), offset, SEEK_SET) != 0)
      throw stream.error(blame(stream.file, *zip_file_get_error(stream.member.get())));
    stream.at = offset;
  }
  std::vector<std::byte> unused(std::min(static_cast<std::size_t>(offset - stream.at), piece));
  while (stream.at < offset)
    stream.require(
        std::span(unused).first(std::min(static_cast<std::size_t>(offset - stream.at), piece)));
  stream.require(bytes);
}

void NpzReader::finish() {
  std::vector<std::byte> unused(piece);
  while (stream_->fill(unused) == piece) continue;
}

void write_npz(const std::string& member, std::string_view npy,
               const std::function<void(std::string_view)>& write) {
  constexpr zip_uint16_t date = 0x21;  // 1 January 1980, the first one: equal x, equal files
  const std::unique_ptr<zip_source_t, decltype(&zip_source_free)> bytes(
      zip_source_buffer_create(nullptr, 0, 0, nullptr), zip_source_free);
  require_memory(bytes != nullptr);
  Archive archive(zip_open_from_source(bytes.get(), ZIP_TRUNCATE, nullptr), zip_discard);
  require_memory(archive != nullptr);
  zip_source_keep(bytes.get());  // the archive's share
  zip_source_t* content = zip_source_buffer(archive.get(), npy.data(), npy.size(), 0);
  require_memory(content != nullptr);
  require_memory(zip_file_add(archive.get(), member.c_str(), content, ZIP_FL_ENC_UTF_8) == 0);
  require_memory(zip_set_file_compression(archive.get(), 0, ZIP_CM_STORE, 0) == 0);
  require_memory(zip_file_set_dostime(archive.get(), 0, 0, date, 0) == 0);
  require_memory(zip_close(archive.get()) == 0);
  static_cast<void>(archive.release());  // closed, and gone
  require_memory(zip_source_open(bytes.get()) == 0);
  std::vector<char> part(piece);
  for (zip_int64_t count = 0; (count = zip_source_read(bytes.get(), part.data(), part.size())) > 0;)
    write({part.data(), static_cast<std::size_t>(count)});
}

}  // namespace speedwell
