/// @file
/// Standard output and error of the command. Nothing else writes there.
#pragma once

#include <string>
#include <string_view>

namespace lupine {

/// To be called first: makes a write to a closed pipe an error instead of the end, and keeps files
/// and sockets that are opened later out of the places of standard input, output and error.
/// @throws Fault if standard output is closed
void prepare_streams();

/// @throws Fault if not all of it arrived: a full disk, a closed pipe
void print(std::string_view text);

/// One line on standard error: "lupine: ...". Line breaks in it become spaces.
void complain(std::string text);

/// One line on standard error as it is, for progress.
void print_progress(const std::string& line);
bool error_is_terminal();

}  // namespace lupine
