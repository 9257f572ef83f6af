// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The options that each command has.
#pragma once

#include "app/arguments.hpp"
#include "app/option.hpp"

namespace lupine {

Options mxp_options(Arguments& arguments);
Options hpl_options(Arguments& arguments);
Options bench_options(Arguments& arguments);
Options compare_options(Arguments& arguments);
Options tune_options(Arguments& arguments);
Options solve_options(Arguments& arguments);

}  // namespace lupine
