// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Includes all of Speedwell's public C++ headers. speedwell.h and speedwell_mpi.h are the headers
/// for C.
#pragma once

#include <speedwell/benchmark.hpp>  // IWYU pragma: export
#include <speedwell/error.hpp>      // IWYU pragma: export
#include <speedwell/matrix.hpp>     // IWYU pragma: export
#include <speedwell/options.hpp>    // IWYU pragma: export
#include <speedwell/progress.hpp>   // IWYU pragma: export
#include <speedwell/solve.hpp>      // IWYU pragma: export
#include <speedwell/version.hpp>    // IWYU pragma: export
