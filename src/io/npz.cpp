// SPDX-License-Identifier: BSD-3-Clause
#include "io/npz.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "io/text.hpp"

namespace speedwell {

namespace {

constexpr std::string_view npy_ending = ".npy";

bool is_regular(const std::string& path) {
  std::error_code unused;
  return std::filesystem::is_regular_file(path, unused);
}

/// The names of the arrays, for a message of one line.
std::string names_of(const std::vector<NpzArray>& arrays) {
  constexpr std::size_t most = 20;
  std::string names;
  for (std::size_t i = 0; i < std::min(most, arrays.size()); ++i)
    names += (i > 0 ? ", " : "") + printable(arrays[i].name());
  return arrays.size() > most ? fmt::format("{}, and {} more", names, arrays.size() - most) : names;
}

const NpzArray& choose(const InputFile& file, const std::vector<NpzArray>& arrays,
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
                                    [&](const NpzArray& one) { return one.member == wanted; });
    if (found != arrays.rend()) return *found;
  }
  throw file.error(
      fmt::format("holds no array '{}'; allowed: {}", printable(*name), names_of(arrays)));
}

}  // namespace

ArrayPath split_array_path(const std::string& name) {
  if (!is_regular(name))
    for (std::size_t at = name.rfind(':'); at != name.npos && at > 0; at = name.rfind(':', at - 1))
      if (is_regular(name.substr(0, at))) return {name.substr(0, at), name.substr(at + 1)};
  return {name, std::nullopt};
}

bool is_zip(std::string_view start) {
  return start.starts_with("PK\x03\x04") || start.starts_with("PK\x05\x06");  // or an empty one
}

std::string_view NpzArray::name() const {
  std::string_view name = member;
  if (name.ends_with(npy_ending)) name.remove_suffix(npy_ending.size());
  return name;
}

UsageError NpzArray::error(const InputFile& file, const std::string& words) const {
  return UsageError(fmt::format("'{}:{}' {}", file.path(), printable(name()), words), file.path());
}

NpzArray find_array(const InputFile& file, const std::optional<std::string>& name) {
  std::vector<NpzArray> arrays = read_members(file);
  std::erase_if(arrays, [](const NpzArray& one) { return !one.member.ends_with(npy_ending); });
  return choose(file, arrays, name);
}

}  // namespace speedwell
