// SPDX-License-Identifier: BSD-3-Clause
#include "app/profile_place.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "app/output.hpp"
#include "comm/agreement.hpp"
#include "io/json.hpp"
#include "io/text.hpp"
#include "revision.hpp"
#include "setup/rates.hpp"

namespace speedwell {

namespace {

namespace fs = std::filesystem;

constexpr const char* option_name = "--profile";

/// The folder of a profile.
fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

/// The file's text if it is a profile's. Empty if there is no file, or, after a warning,
/// if it cannot be used.
/// @throws UsageError if the file cannot be used and --profile names it
std::string usable_text(const ProfilePlace& place, std::vector<std::string>& notes) {
  const bool must_be = place.named_by == option_name;
  try {
    std::string text = profile_text(place.path);
    std::error_code error;  // ignored: a file that cannot be looked at is no profile
    if (!text.empty() || fs::exists(place.path, error)) {
      parse_profile(text, place.path);
      notes.push_back(fmt::format("the profile is '{}'", place.path));
    } else if (!place.named_by.empty()) {
      if (!fs::is_directory(folder_of(place.path), error))
        throw UsageError(
            fmt::format("{}: there is no folder for '{}'; allowed: a file in a folder that is "
                        "there, or none",
                        place.named_by, printable(place.path, longest_path)));
      notes.push_back(fmt::format("{}: there is no '{}' yet; rates that are measured begin it",
                                  place.named_by, place.path));
    }
    return text;
  } catch (const UsageError& error) {
    if (must_be) throw;
    complain(fmt::format("warning: {}; the run goes on without a profile", error.what()));
    return "";
  }
}

}  // namespace

ProfilePlace profile_place(const std::string& option) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  const auto named = [](const std::string& value, const char* by) {
    return ProfilePlace{value == "none" ? "" : value, by};
  };
  if (!option.empty()) return named(option, option_name);
  if (const std::string profile = variable("SPEEDWELL_PROFILE"); !profile.empty())
    return named(profile, "SPEEDWELL_PROFILE");
  // By the XDG base directory specification, a path that is not absolute is to be ignored.
  for (const fs::path& folder :
       {fs::path(variable("XDG_CONFIG_HOME")), fs::path(variable("HOME")) / ".config"})
    if (folder.is_absolute()) return {(folder / "speedwell" / "profile.json").string(), ""};
  return {};
}

Profile load_profile(const Communicator& world, const ProfilePlace& place,
                     std::vector<std::string>& notes) {
  std::string text;
  on_rank_0(world, [&] {
    if (!place.path.empty()) text = usable_text(place, notes);
  });
  text = text_of_rank_0(world, std::move(text));
  Profile profile = text.empty() ? Profile() : parse_profile(text, place.path);
  for (const ProfileRate& rate : profile.rates()) remember(rate);
  return profile;
}

void keep_rates(const Communicator& world, const ProfilePlace& place) {
  if (world.rank() != 0 || place.path.empty()) return;
  std::vector<ProfileRate> rates = measured_rates();
  if (rates.empty()) return;
  for (ProfileRate& rate : rates) rate.revision = SPEEDWELL_REVISION;
  try {
    if (place.named_by.empty()) fs::create_directories(folder_of(place.path));
    add_to_profile(place.path, rates);
  } catch (const std::exception&) {  // nothing is lost: a later run measures again
  }
}

void prepare_profile(const ProfilePlace& place) {
  if (!place.is_wanted()) return;
  if (place.path.empty())
    throw UsageError(
        fmt::format("no folder for a profile: neither XDG_CONFIG_HOME nor HOME is set; "
                    "allowed: {} FILE, or none",
                    option_name));
  read_profile(place.path);
  std::error_code error;  // ignored: check_writable() then fails and names the reason
  if (place.named_by.empty()) fs::create_directories(folder_of(place.path), error);
  check_writable(place.path, place.named_by.empty() ? option_name : place.named_by);
}

}  // namespace speedwell
