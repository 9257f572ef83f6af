// SPDX-License-Identifier: BSD-3-Clause
#include "sensors/system_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace speedwell {

namespace {

constexpr const char* white_space = " \t\r\n";

std::string why_unreadable(const std::string& path, int error) {
  const std::string name = path.substr(path.rfind('/') + 1);
  if (error == EACCES || error == EPERM) return fmt::format("{} is readable by root only", name);
  return fmt::format("{}: {}", name, std::generic_category().message(error));
}

}  // namespace

Sensed<std::string> SystemFiles::text(const std::string& path, std::size_t most) const {
  const auto none = [&] { return Sensed<std::string>::none(why_unreadable(path, errno)); };
  const int file = open((root_ + path).c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return none();
  std::string text(most, '\0');
  std::size_t length = 0;
  ssize_t got = 0;
  do {
    got = ::read(file, text.data() + length, most - length);
    if (got > 0) length += static_cast<std::size_t>(got);
  } while ((got > 0 && length < most) || (got < 0 && errno == EINTR));
  Sensed<std::string> failed = got < 0 ? none() : Sensed<std::string>();
  close(file);
  if (got < 0) return failed;
  text.resize(length);
  text.erase(text.find_last_not_of(white_space) + 1);
  return text;
}

Sensed<std::uint64_t> SystemFiles::number(const std::string& path) const {
  using Number = Sensed<std::uint64_t>;
  const Sensed<std::string> words = text(path, 64);
  if (!words) return Number::none(words.why_none());
  std::uint64_t value = 0;
  const char* const end = words->data() + words->size();
  const auto [stop, error] = std::from_chars(words->data(), end, value);
  if (error != std::errc() || (stop != end && *stop != ' '))
    return Number::none(fmt::format("{} holds no number", path.substr(path.rfind('/') + 1)));
  return value;
}

std::vector<std::string> SystemFiles::names(const std::string& folder) const {
  std::vector<std::string> found;
  std::error_code ignored;
  std::filesystem::directory_iterator entry(root_ + folder, ignored);
  for (; entry != std::filesystem::directory_iterator(); entry.increment(ignored))
    found.push_back(entry->path().filename().string());
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace speedwell
