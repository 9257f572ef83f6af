// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The place of the user's profile, and reading it.
#pragma once

#include <string>
#include <vector>

#include "comm/communicator.hpp"
#include "io/profile.hpp"

namespace speedwell {

struct ProfilePlace {
  std::string path;      ///< empty: the user wants no profile, or there is no folder for one
  std::string named_by;  ///< "--profile" or "SPEEDWELL_PROFILE"; empty for the default place
  /// False if the user asked for no profile ("none").
  bool is_wanted() const { return !(path.empty() && !named_by.empty()); }
};

/// The place by --profile, else by SPEEDWELL_PROFILE, else speedwell/profile.json in
/// XDG_CONFIG_HOME, else in .config of HOME.
/// @param option value of --profile: a path, "none", or empty
ProfilePlace profile_place(const std::string& option);

/// The profile, which rank 0 reads for all ranks. This process knows its rates from then on
/// (setup/rates.hpp). A file that cannot be used is an error if --profile names it; otherwise a
/// warning is printed, and the profile is empty. A file that is not there yet is an empty profile.
/// Collective.
/// @param notes on rank 0, gets a note that names the file that was read, or that is not there yet
/// @throws UsageError on every rank
Profile load_profile(const Communicator& world, const ProfilePlace& place,
                     std::vector<std::string>& notes);

/// Adds the rates that rank 0 has measured to the profile, for later runs. The folder of the
/// default place is made. Where the profile cannot be written, or is damaged, nothing happens: the
/// run that has measured the rates is complete without that.
void keep_rates(const Communicator& world, const ProfilePlace& place);

/// Checks, before time is spent on tuning, that an entry can be added to the profile later: its
/// folder exists and can be written, and an existing profile can be read. Makes the folder of the
/// default place. For rank 0.
/// @throws UsageError that says what is wrong
void prepare_profile(const ProfilePlace& place);

}  // namespace speedwell
