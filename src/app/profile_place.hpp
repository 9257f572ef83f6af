// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Where the user's profile lies, and how it is read.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "io/profile.hpp"

namespace lupine {

/// Variables of the environment; empty where they are not set.
struct ProfileEnvironment {
  std::string profile;        ///< LUPINE_PROFILE
  std::string configuration;  ///< XDG_CONFIG_HOME
  std::string home;           ///< HOME
};

struct ProfilePlace {
  std::string path;      ///< empty: none wanted, or no folder to have it in
  std::string named_by;  ///< "--profile" or "LUPINE_PROFILE"; empty: nothing, it is the default
  bool is_wanted() const { return !(path.empty() && !named_by.empty()); }
};

/// @param option what --profile says: a path, "none", or nothing
ProfilePlace profile_place(const std::string& option, const ProfileEnvironment& environment);

/// Rank 0 reads the file for all. Where --profile names one, it has to be there and whole;
/// otherwise one that cannot be used makes a warning, and is none. Collective.
/// @param notes where what was read is noted
/// @throws UsageError on every rank alike
Profile load_profile(const Communicator& world, const ProfilePlace& place,
                     std::vector<std::string>& notes);

/// Makes sure, before time is spent, that an entry can be added later: the folder is there, or made
/// where it is the default, and can be written; what the file holds can be read. On rank 0.
/// @throws UsageError that says which is not so
void prepare_profile(const ProfilePlace& place);

}  // namespace lupine
