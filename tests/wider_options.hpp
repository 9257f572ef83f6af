// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Options of a run and one option more, to test that a new option reaches every place that lists
/// options.
#pragma once

#include <speedwell/options.hpp>

#include <concepts>
#include <type_traits>

#include "core/option_fields.hpp"

namespace speedwell {

struct WiderOptions {
  RunOptions run;
  double newest = 0.25;
};

template <OptionsOf<WiderOptions> Options, class Visit>
void for_each_option(Options& options, const Visit& visit) {
  auto& [run, newest] = options;
  for_each_option(run, visit);
  visit("newest", newest);
}

}  // namespace speedwell
