// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The options of the C interface, and those of the library that they stand for.
#pragma once

#include <speedwell.h>
#include <speedwell/options.hpp>

namespace speedwell {

/// Whether every option that has names has a known value. Fields that a program compiled with an
/// older speedwell.h does not have are not looked at; given.size is above 0, and at most that of
/// the struct.
bool is_known(const speedwell_options& given);

/// @param given null: the defaults
SolveOptions options_from(const speedwell_options* given);

}  // namespace speedwell
