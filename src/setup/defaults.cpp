// SPDX-License-Identifier: BSD-3-Clause
#include "setup/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "core/numbers.hpp"
#include "core/scalar.hpp"
#include "device/device_traits.hpp"

namespace lupine {

namespace {

constexpr std::string_view words(Engine engine) {
  switch (engine) {
    case Engine::cpu_bf16:
      return "cpu bf16 native";
    case Engine::cpu_other:
      return "cpu fp32 products";
    case Engine::cpu_fp64:
      return "cpu fp64";
    case Engine::cuda_low:
      return "cuda 16 bits";
    case Engine::cuda_fp64:
      return "cuda fp64";
  }
  return "";
}

Engine engine_of(const TuningCase& c) {
  const DeviceTraits& device = traits_of(c.device);
  if (c.precision == Precision::fp64) return device.fp64;
  return c.native && bytes_of(c.precision) == 2 ? device.native_low : device.other_low;
}

struct Row {
  Engine engine;
  std::int64_t above;     // the local order, n over the longer side of the grid
  std::int64_t nb_alone;  // at most, of one rank
  std::int64_t nb;        // of several: shorter blocks, so that their work is more alike
  int lookahead;
  std::int64_t chunk_alone;  // of a rank alone in its process column: nobody waits for parts
  std::int64_t chunk;        // of several: some ten milliseconds of an update
  int leaf;
};

constexpr std::int64_t all = 0;

// Of an engine's rows the last that a problem is above holds. A faster update has to be fed with a
// longer sum to stay ahead of reading and writing C: a GPU needs 700 columns for its memory to keep
// up with its tensor cores, and more not to notice. HPL's panels are slower, so that its blocks are
// smaller.
// clang-format off
constexpr Row table[] = {
    // engine          above  nb: alone, of several  look-ahead  chunk: alone, of several  leaf
    {Engine::cpu_bf16,     0,       512,        384,          1,          all,       2048,   16},
    {Engine::cpu_bf16, 12288,      1024,        384,          1,         8192,       2048,   16},
    {Engine::cpu_other,    0,       512,        512,          1,          all,       2048,   16},
    {Engine::cpu_fp64,     0,       384,        384,          1,          all,       2048,   16},
    {Engine::cuda_low,     0,      2048,       2048,          1,        16384,      16384,   32},
    {Engine::cuda_fp64,    0,      1024,       1024,          1,        16384,      16384,   32},
};
// clang-format on

const Row& row_of(Engine engine, std::int64_t local_order) {
  const Row* found = nullptr;
  for (const Row& row : table)
    if (row.engine == engine && local_order > row.above) found = &row;
  return *found;
}

std::int64_t largest_nb_for(std::int64_t local_order) {
  constexpr std::int64_t unit = 32;
  constexpr std::int64_t blocks_a_rank = 8;
  const std::int64_t share = local_order / blocks_a_rank;
  return std::max(unit, round_up(share, unit));
}

}  // namespace

Defaults defaults_for(const TuningCase& which) {
  const std::int64_t sides = std::max(which.shape.nprow, which.shape.npcol);
  const Row& row = row_of(engine_of(which), ceil_div(which.n, sides));
  const std::int64_t most = which.shape.size() == 1 ? row.nb_alone : row.nb;
  const std::int64_t nb = std::min({most, largest_nb_for(which.n / sides), which.n});
  const std::int64_t chunk = which.shape.nprow == 1 ? row.chunk_alone : row.chunk;
  std::string name(words(row.engine));
  if (row.above > 0) name += fmt::format(", above {} a rank", row.above);
  return {{nb, row.lookahead, chunk}, row.leaf, std::move(name), nb < most};
}

}  // namespace lupine
