// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Pictures by gnuplot, run as a program of its own.
#pragma once

#include <string>

namespace lupine {

/// Whether gnuplot is there and draws SVG.
/// @param option what the caller calls the picture, for the message: "--plot"
/// @throws UsageError that says what is missing
void check_gnuplot(const std::string& option);

/// Gives the script to gnuplot, and writes what gnuplot writes to standard output to `path`: the
/// file is whole or as it was.
/// @throws Fault where gnuplot fails, in its words, or the file cannot be written
void draw(const std::string& script, const std::string& path);

}  // namespace lupine
