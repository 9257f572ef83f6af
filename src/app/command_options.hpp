// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The options of each command. Their values are stored into `arguments`, which must outlive them.
#pragma once

#include "app/arguments.hpp"
#include "app/option.hpp"

namespace speedwell {

Options mxp_options(Arguments& arguments);
Options hpl_options(Arguments& arguments);
Options bench_options(Arguments& arguments);
Options compare_options(Arguments& arguments);
Options tune_options(Arguments& arguments);
Options solve_options(Arguments& arguments);
Options check_options(Arguments& arguments);
/// The options of `speedwell predict mxp`, `hpl` and `bench` beside those of the run.
Options predict_options(Arguments& arguments);
/// All options of `speedwell predict solve`.
Options predict_solve_options(Arguments& arguments);
/// The options of `speedwell predict --calibrate`.
Options calibrate_options(Arguments& arguments);
Options info_options(Arguments& arguments);

}  // namespace speedwell
