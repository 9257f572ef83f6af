// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The files that a command reads and writes.
#pragma once

#include "app/arguments.hpp"
#include "app/profile_place.hpp"

namespace speedwell {

/// Checks that each file that the command is to write can be written, and that none of them is also
/// another one of its files, by whatever name or link. Where there is one, a lost stream ends
/// nothing from then on; where --json names standard output, the report goes to standard error. For
/// rank 0, before anything runs.
/// @param place of the profile that the command reads, or writes
/// @param dat the HPL.dat that it has read; may be null
/// @throws UsageError that names the options or arguments which give the files
void check_files(const Arguments& arguments, const ProfilePlace& place,
                 const HplDat* dat = nullptr);

}  // namespace speedwell
