// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Includes all of Lupine's public C++ headers. lupine.h is the header for C.
#pragma once

#include <lupine/benchmark.hpp>  // IWYU pragma: export
#include <lupine/error.hpp>      // IWYU pragma: export
#include <lupine/options.hpp>    // IWYU pragma: export
#include <lupine/progress.hpp>   // IWYU pragma: export
#include <lupine/solve.hpp>      // IWYU pragma: export
#include <lupine/version.hpp>    // IWYU pragma: export
