// SPDX-License-Identifier: BSD-3-Clause
#include "io/npz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "io/text.hpp"

namespace lupine {

namespace {

constexpr std::string_view npy_ending = ".npy";

bool is_regular(const std::string& path) {
  std::error_code unused;
  return std::filesystem::is_regular_file(path, unused);
}

/// The name by which users know a member: without ".npy".
std::string_view array_name(const ZipMember& member) {
  std::string_view name = member.name;
  if (name.ends_with(npy_ending)) name.remove_suffix(npy_ending.size());
  return name;
}

/// The names of the arrays, for a message of one line.
std::string names_of(const std::vector<ZipMember>& arrays) {
  constexpr std::size_t most = 20;
  std::string names;
  for (std::size_t i = 0; i < std::min(most, arrays.size()); ++i)
    names += (i > 0 ? ", " : "") + printable(array_name(arrays[i]));
  return arrays.size() > most ? fmt::format("{}, and {} more", names, arrays.size() - most) : names;
}

const ZipMember& choose(const InputFile& file, const std::vector<ZipMember>& arrays,
                        const std::optional<std::string>& name) {
  if (arrays.empty()) throw file.error("is a zip archive without arrays; allowed: NumPy's .npz");
  if (!name) {
    if (arrays.size() == 1) return arrays.front();
    throw file.error(
        fmt::format("holds {} arrays; allowed: ':NAME' behind the path, with one of the names {}",
                    arrays.size(), names_of(arrays)));
  }
  // Of members with equal names the last one counts, which has replaced the others.
  for (const std::string& wanted : {*name, *name + std::string(npy_ending)}) {
    const auto found = std::find_if(arrays.rbegin(), arrays.rend(),
                                    [&](const ZipMember& one) { return one.name == wanted; });
    if (found != arrays.rend()) return *found;
  }
  throw file.error(
      fmt::format("holds no array '{}'; allowed: {}", printable(*name), names_of(arrays)));
}

/// The usual name of a method of compression that is not supported.
std::string_view method_name(int method) {
  switch (method) {
    case 9:
      return " (deflate64)";
    case 12:
      return " (bzip2)";
    case 14:
      return " (LZMA)";
    case 93:
      return " (Zstandard)";
    case 95:
      return " (XZ)";
    default:
      return "";
  }
}

}  // namespace

ArrayPath split_array_path(const std::string& name) {
  if (!is_regular(name))
    for (std::size_t at = name.rfind(':'); at != name.npos && at > 0; at = name.rfind(':', at - 1))
      if (is_regular(name.substr(0, at))) return {name.substr(0, at), name.substr(at + 1)};
  return {name, std::nullopt};
}

bool is_zip(std::string_view start) {
  return start.starts_with(zip_magic) || start.starts_with(empty_zip_magic);
}

UsageError NpzArray::error(const InputFile& file, const std::string& words) const {
  return UsageError(fmt::format("'{}:{}' {}", file.path(), printable(array_name(member)), words),
                    file.path());
}

NpzArray find_array(const InputFile& file, const std::optional<std::string>& name) {
  constexpr int stored = 0;
  constexpr int deflate = 8;
  std::vector<ZipMember> arrays = read_zip_directory(file);
  std::erase_if(arrays, [](const ZipMember& m) { return !m.name.ends_with(npy_ending); });
  NpzArray array{choose(file, arrays, name), 0};
  const ZipMember& member = array.member;
  if (member.encrypted) throw array.error(file, "is encrypted; allowed: arrays that are not");
  if (member.method != stored && member.method != deflate)
    throw array.error(file, fmt::format("is compressed by method {}{}; allowed: 0 (none), 8 "
                                        "(deflate)",
                                        member.method, method_name(member.method)));
  if (member.method == stored && member.size != member.packed)
    throw array.error(file, fmt::format("has {} bytes and takes {} in the archive; allowed: equal "
                                        "sizes where nothing is compressed",
                                        member.size, member.packed));
  array.begin = content_offset(file, member);
  return array;
}

}  // namespace lupine
