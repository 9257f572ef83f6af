// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The options by which the same runs are made again: those that were given, and what Speedwell
/// chose.
#pragma once

#include <string>
#include <vector>

#include "core/option_text.hpp"
#include "io/hpl_dat.hpp"
#include "setup/plan.hpp"

namespace speedwell {

/// The words of the command line that give these options: {"--n", "300", ...}.
std::vector<std::string> words_of(const std::vector<OptionText>& options);

/// The options of `speedwell mxp` or `hpl`, by their names with '_' for '-'. What differs between
/// several configurations is a list, as it was given, or left to Speedwell as before.
/// @param setups of all configurations, at least one
/// @param lists the choices from which the configurations were made
std::vector<OptionText> options_again(const std::vector<Setup>& setups, const HplDat& lists);

/// The options of `speedwell mxp` or `hpl` for one configuration.
std::vector<OptionText> options_alone(const Setup& setup);

/// The options of `speedwell bench`. What Speedwell chose differently for the two, and `bench` has
/// one option for, is left to Speedwell again.
std::vector<OptionText> options_again_of_both(const Setup& mxp, const Setup& hpl);

}  // namespace speedwell
