// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How far a factorization has come.
#pragma once

#include <cstdint>
#include <functional>

namespace lupine {

/// Progress of the factorization, from rank 0.
struct Progress {
  std::int64_t columns_done = 0;
  std::int64_t n = 0;
  double seconds = 0;
};
using ProgressFunction = std::function<void(const Progress&)>;

}  // namespace lupine
