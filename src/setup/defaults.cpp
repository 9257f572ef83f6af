// SPDX-License-Identifier: BSD-3-Clause
#include "setup/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/numbers.hpp"
#include "core/scalar.hpp"
#include "device/device_traits.hpp"

namespace speedwell {

namespace {

constexpr std::string_view words(Engine engine) {
  switch (engine) {
    case Engine::cpu_fast:
      return "cpu fast 16 bits";
    case Engine::cpu_other:
      return "cpu at the rate of fp32";
    case Engine::cpu_fp64:
      return "cpu fp64";
    case Engine::cuda_low:
      return "cuda 16 bits";
    case Engine::cuda_fp64:
      return "cuda fp64";
  }
  return "";
}

Engine engine_of(const LuPlan& lu, bool fast) {
  const DeviceTraits& device = traits_of(lu.device);
  if (lu.precision == Precision::fp64) return device.fp64;
  return fast && bytes_of(lu.precision) == 2 ? device.fast_low : device.other_low;
}

struct Row {
  Engine engine;
  std::int64_t above;     // the row is for local orders (n over the longer side) above this
  std::int64_t nb_alone;  // largest block size of one rank
  std::int64_t nb;        // largest block size of several ranks: smaller, for an even load
  int lookahead_alone;    // 0 where the device of one rank has nothing to hide panels behind
  int lookahead;
  std::int64_t chunk_alone;  // chunk of a rank alone in its process column
  std::int64_t chunk;        // chunk of several ranks: some ten milliseconds of an update
  int leaf;
  int threads = 0;  // the row is for ranks of at least so many
};

constexpr std::int64_t all_columns = 0;

// The last row of an engine whose `above` is less than the local order applies. A faster update
// needs wider panels, so that reading and writing C does not limit it: with 700 columns a GPU's
// memory only just keeps up with its tensor cores. HPL factors its panels more slowly, so its
// blocks are smaller. On many cores each has less of the memory's bandwidth. The rows of GPUs are
// those of predictions (speedwell predict) for an H200; that of many threads is by predictions for
// nodes of 64 to 128 cores (src/DECISIONS.md).
// clang-format off
constexpr Row default_rows[] = {
    // each pair: of one rank, of several
    // engine           above           nb   look-ahead             chunk  leaf
    {Engine::cpu_fast,      0, 1024,  384,   0, 1,  all_columns,   2048,   16},
    {Engine::cpu_fast,  12288, 1024, 1024,   0, 1,         8192,   2048,   16},
    {Engine::cpu_fast,  32768, 2048, 2048,   0, 1,         8192,   2048,   16, 16},
    {Engine::cpu_other,     0,  512,  512,   0, 1,  all_columns,   2048,   16},
    {Engine::cpu_fp64,      0,  384,  384,   0, 1,  all_columns,   2048,   16},
    {Engine::cuda_low,      0, 1024, 1024,   1, 1,        16384,  16384,   32},
    {Engine::cuda_low,  49152, 2048, 2048,   1, 1,        16384,  16384,   32},
    {Engine::cuda_low, 114688, 3072, 3072,   1, 1,        32768,  32768,   32},
    {Engine::cuda_fp64,     0, 1024, 1024,   1, 1,        16384,  16384,   32},
};
// clang-format on

const Row& row_of(Engine engine, std::int64_t local_order, int threads) {
  const Row* found = nullptr;
  for (const Row& row : default_rows)
    if (row.engine == engine && local_order > row.above && threads >= row.threads) found = &row;
  return *found;
}

// Leaves eight blocks to a rank. On a CPU it leaves sixteen, as far as blocks stay so wide that a
// product loses little: the work on panels grows with their width, and runs at a lower rate. One
// rank with FP32's rate has 32: its copies of panels then take little memory beside A.
std::int64_t largest_nb_for(const LuPlan& lu, bool fast) {
  constexpr std::int64_t unit = 32;
  const std::int64_t local_order = lu.n / std::max(lu.grid.nprow, lu.grid.npcol);
  const std::int64_t eighth = local_order / 8;
  const bool wide = fast && bytes_of(lu.precision) == 2;
  const std::int64_t narrow = std::min<std::int64_t>(eighth, wide ? 256 : 128);
  const bool small = engine_of(lu, fast) == Engine::cpu_other && lu.grid.size() == 1;
  const std::int64_t share =
      lu.device == DeviceKind::cpu ? std::max(local_order / (small ? 32 : 16), narrow) : eighth;
  return std::max(unit, round_up(share, unit));
}

}  // namespace

Defaults defaults_for(const LuPlan& lu, bool fast, int threads) {
  const std::int64_t sides = std::max(lu.grid.nprow, lu.grid.npcol);
  const Row& row = row_of(engine_of(lu, fast), ceil_div(lu.n, sides), threads);
  const bool alone = lu.grid.size() == 1;
  const std::int64_t most = alone ? row.nb_alone : row.nb;
  // Columns of complex numbers are as wide for products as twice as many of real ones.
  const std::int64_t nb = std::min({most / lu.parts(), largest_nb_for(lu, fast), lu.n});
  const std::int64_t chunk = lu.grid.nprow == 1 ? row.chunk_alone : row.chunk;
  std::string name(words(row.engine));
  if (row.above > 0) name += fmt::format(", above {} a rank", row.above);
  if (row.threads > 0) name += fmt::format(" of {} threads", row.threads);
  return {{nb, alone ? row.lookahead_alone : row.lookahead, chunk},
          row.leaf,
          std::move(name),
          nb < most / lu.parts()};
}

}  // namespace speedwell
