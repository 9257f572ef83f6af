// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Pictures drawn by gnuplot, which runs as a separate program.
#pragma once

#include <string>
#include <string_view>

namespace speedwell {

/// The text as a string of a script, in single quotes.
std::string gnuplot_string(std::string_view text);

/// Checks that gnuplot can be started and draws SVG.
/// @param option the option that asks for the picture, for the message: "--plot"
/// @throws UsageError that says what is missing
void check_gnuplot(const std::string& option);

/// Runs the script in gnuplot, and writes gnuplot's standard output to `path`. If that fails, a
/// file that was at `path` is unchanged.
/// @throws Fault if gnuplot fails, with its message, or the file cannot be written
void draw(const std::string& script, const std::string& path);

}  // namespace speedwell
