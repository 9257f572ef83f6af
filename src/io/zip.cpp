// SPDX-License-Identifier: BSD-3-Clause
#include "io/zip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <utility>

namespace lupine {

namespace {

constexpr std::int64_t longest_directory = std::int64_t{64} << 20;

UsageError damaged_zip(const InputFile& file, std::string_view what) {
  return file.error(
      fmt::format("is a damaged zip archive: {}; allowed: a whole archive in one file", what));
}

/// The bytes of one record of an archive, which begins with a signature.
class Record {
 public:
  /// Reads `length` bytes from `offset` on. @throws UsageError if the file ends before
  Record(const InputFile& file, std::int64_t offset, std::int64_t length)
      : file_(file), bytes_(offset < 0 ? "" : file.text(offset, length)) {
    if (std::ssize(bytes_) < length) throw damaged_zip(file, "it ends within its directory");
  }

  bool begins_with(std::string_view signature) const { return bytes_.starts_with(signature); }

  /// The little-endian number of `length` bytes at `at`.
  std::int64_t number(std::size_t at, std::size_t length) const {
    const std::string_view field = text(at, length);
    std::uint64_t value = 0;
    for (std::size_t i = length; i-- > 0;)
      value = value << 8 | static_cast<unsigned char>(field[i]);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      throw damaged_zip(file_, "a size in it does not fit in 63 bits");
    return static_cast<std::int64_t>(value);
  }

  std::string_view text(std::size_t at, std::size_t length) const {
    if (at > bytes_.size() || length > bytes_.size() - at)
      throw damaged_zip(file_, "its directory ends too early");
    return std::string_view(bytes_).substr(at, length);
  }

  std::size_t size() const { return bytes_.size(); }

 private:
  const InputFile& file_;
  std::string bytes_;
};

struct Directory {
  std::int64_t offset = 0;
  std::int64_t size = 0;
  std::int64_t members = 0;
};

/// Offset of the record at the end of the archive, which a comment of any length may follow.
std::int64_t end_record(const InputFile& file) {
  constexpr std::int64_t record = 22;
  constexpr std::int64_t longest_comment = 65535;
  const std::int64_t begin = std::max<std::int64_t>(file.size() - record - longest_comment, 0);
  const std::string tail = file.text(begin, file.size() - begin);
  for (std::int64_t at = std::ssize(tail) - record; at >= 0; --at) {
    const std::string_view rest = std::string_view(tail).substr(static_cast<std::size_t>(at));
    if (!rest.starts_with(empty_zip_magic)) continue;
    const std::int64_t low = static_cast<unsigned char>(rest[20]);
    const std::int64_t high = static_cast<unsigned char>(rest[21]);
    if (std::ssize(rest) == record + low + 256 * high) return begin + at;
  }
  throw damaged_zip(file, "it has no directory at its end");
}

Directory find_directory(const InputFile& file) {
  const std::int64_t end = end_record(file);
  const Record last(file, end, 22);
  Directory found{last.number(16, 4), last.number(12, 4), last.number(10, 2)};
  if (end >= 20) {
    const Record locator(file, end - 20, 20);
    if (locator.begins_with("PK\x06\x07")) {
      const Record last64(file, locator.number(8, 8), 56);
      if (!last64.begins_with("PK\x06\x06"))
        throw damaged_zip(file, "it has no zip64 record where it says");
      found = {last64.number(48, 8), last64.number(40, 8), last64.number(32, 8)};
    }
  }
  if (found.size > longest_directory)
    throw file.error(fmt::format("has a zip directory of {} bytes; allowed: at most {}", found.size,
                                 longest_directory));
  if (found.offset > file.size() - found.size)
    throw damaged_zip(file, "its directory lies beyond its end");
  return found;
}

/// Replaces the sizes of 32 bits that are full by those of 64 bits in the member's extra fields.
void read_zip64(const Record& directory, std::size_t at, std::size_t length, ZipMember& member) {
  constexpr std::int64_t full = 0xffffffff;
  const std::size_t end = at + length;
  while (at + 4 <= end) {
    const std::int64_t kind = directory.number(at, 2);
    const auto bytes = static_cast<std::size_t>(directory.number(at + 2, 2));
    at += 4;
    if (kind == 1) {
      for (std::int64_t* size : {&member.size, &member.packed, &member.header}) {
        if (*size != full) continue;
        *size = directory.number(at, 8);
        at += 8;
      }
      return;
    }
    at += bytes;
  }
}

/// Fields of records, each a little-endian number of so many bytes.
std::string fields(std::initializer_list<std::pair<std::int64_t, int>> numbers) {
  std::string bytes;
  for (const auto& [value, length] : numbers)
    for (int i = 0; i < length; ++i) bytes.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  return bytes;
}

}  // namespace

std::vector<ZipMember> read_zip_directory(const InputFile& file) {
  const Directory place = find_directory(file);
  const Record directory(file, place.offset, place.size);
  std::vector<ZipMember> members;
  std::size_t at = 0;
  while (at < directory.size()) {
    constexpr std::size_t record = 46;  // bytes before the name
    if (directory.text(at, 4) != "PK\x01\x02")
      throw damaged_zip(file, "its directory holds something else");
    const auto name = static_cast<std::size_t>(directory.number(at + 28, 2));
    const auto extra = static_cast<std::size_t>(directory.number(at + 30, 2));
    const auto comment = static_cast<std::size_t>(directory.number(at + 32, 2));
    ZipMember member;
    member.encrypted = directory.number(at + 8, 2) % 2 == 1;
    member.method = static_cast<int>(directory.number(at + 10, 2));
    member.crc = static_cast<std::uint32_t>(directory.number(at + 16, 4));
    member.packed = directory.number(at + 20, 4);
    member.size = directory.number(at + 24, 4);
    member.header = directory.number(at + 42, 4);
    member.name = directory.text(at + record, name);
    read_zip64(directory, at + record + name, extra, member);
    members.push_back(std::move(member));
    at += record + name + extra + comment;
  }
  if (std::ssize(members) != place.members)
    throw damaged_zip(file, fmt::format("its directory has {} members and should have {}",
                                        members.size(), place.members));
  return members;
}

std::int64_t content_offset(const InputFile& file, const ZipMember& member) {
  constexpr std::int64_t record = 30;  // bytes before the name
  const Record local(file, member.header, record);
  if (!local.begins_with(zip_magic))
    throw damaged_zip(file, "a member is not where its directory says");
  const std::int64_t offset = member.header + record + local.number(26, 2) + local.number(28, 2);
  if (offset > file.size() - member.packed) throw damaged_zip(file, "a member lies beyond its end");
  return offset;
}

ZipFrame zip_frame(const ZipMember& member) {
  constexpr std::int64_t full = 0xffffffff;        // the size is in the zip64 field
  constexpr std::int64_t date = 0x21;              // 1 January 1980, the first one
  const bool wide = member.size >= full - 0xffff;  // offsets behind the content too
  const std::int64_t version = wide ? 45 : 20;
  const std::int64_t size = wide ? full : member.size;
  const std::string sizes =
      wide ? fields({{1, 2}, {16, 2}, {member.size, 8}, {member.size, 8}}) : "";
  const std::int64_t name = std::ssize(member.name);
  // Flags, method, time and date, and what follows in both headers.
  const std::string common = fields({{version, 2},
                                     {0, 2},
                                     {0, 2},
                                     {0, 2},
                                     {date, 2},
                                     {member.crc, 4},
                                     {size, 4},
                                     {size, 4},
                                     {name, 2},
                                     {std::ssize(sizes), 2}});
  ZipFrame frame;
  frame.before = std::string(zip_magic) + common + member.name + sizes;
  const std::int64_t offset = std::ssize(frame.before) + member.size;
  frame.after = "PK\x01\x02" + fields({{version, 2}}) + common +
                fields({{0, 2}, {0, 2}, {0, 2}, {0, 4}, {0, 4}}) + member.name + sizes;
  const std::int64_t length = std::ssize(frame.after);
  if (wide)
    frame.after += "PK\x06\x06" +
                   fields({{44, 8},
                           {version, 2},
                           {version, 2},
                           {0, 4},
                           {0, 4},
                           {1, 8},
                           {1, 8},
                           {length, 8},
                           {offset, 8}}) +
                   "PK\x06\x07" + fields({{0, 4}, {offset + length, 8}, {1, 4}});
  frame.after +=
      std::string(empty_zip_magic) +
      fields({{0, 2}, {0, 2}, {1, 2}, {1, 2}, {length, 4}, {wide ? full : offset, 4}, {0, 2}});
  return frame;
}

}  // namespace lupine
