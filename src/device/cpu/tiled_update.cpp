// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/tiled_update.hpp"

#include <omp.h>

#include <algorithm>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "device/cpu/tile_product.hpp"
#include "host/threads.hpp"

namespace speedwell {

namespace {

// Each tile_inner rows of u, one after the other. Columns beyond u's are zero.
void gather(MatrixView<const Bfloat16> u, std::int64_t columns, Bfloat16* end) {
  for (std::int64_t k = 0; k < u.rows; k += tile_inner) {
    const std::int64_t rows = std::min(tile_inner, u.rows - k);
    for (std::int64_t j = 0; j < u.columns; ++j) end = std::copy_n(u.column(j) + k, rows, end);
    end = std::fill_n(end, rows * (columns - u.columns), Bfloat16{});
  }
}

}  // namespace

TiledUpdate::TiledUpdate(MatrixView<const Bfloat16> l, Bfloat16* memory)
    : packed_(memory), rows_(l.rows), inner_(l.columns) {
#pragma omp parallel for collapse(2) schedule(static)
  for (std::int64_t k = 0; k < inner_; k += tile_inner)
    for (std::int64_t i = 0; i < rows_; i += tile_unit)
      pack_tile(l.block(i, k, std::min(tile_unit, rows_ - i), std::min(tile_inner, inner_ - k)),
                packed(i, k));
}

Bfloat16* TiledUpdate::packed(std::int64_t i, std::int64_t k) const {
  SPEEDWELL_EXPECTS(i % tile_unit == 0 && k % tile_inner == 0);
  return packed_ + packed_elements(rows_, k) + packed_elements(i, std::min(tile_inner, inner_ - k));
}

void TiledUpdate::add(MatrixView<const Bfloat16> u, MatrixView<float> c) const {
  SPEEDWELL_EXPECTS(c.rows == rows_ && u.rows == inner_ && u.columns == c.columns);
  // A thread takes some tiles of a column of tiles, as long as there are enough for all threads:
  // their columns of U stay in its cache.
  const std::int64_t down = ceil_div(rows_, tile_order);
  const std::int64_t across = ceil_div(c.columns, tile_order);
  const std::int64_t wanted = 8 * std::int64_t{omp_get_max_threads()};
  const std::int64_t tall = std::clamp(down * across / wanted, std::int64_t{1}, down);
  const std::int64_t pieces = ceil_div(down, tall);
  for_each_in_threads(pieces * across, [&](std::int64_t piece) {
    const std::int64_t i = piece % pieces * tall * tile_order;
    const std::int64_t j = piece / pieces * tile_order;
    add_tiles(u, c, i, std::min(tall * tile_order, rows_ - i), j);
  });
}

void TiledUpdate::add_tiles(MatrixView<const Bfloat16> u, MatrixView<float> c, std::int64_t begin,
                            std::int64_t rows, std::int64_t j) const {
  thread_local TileVector<Bfloat16> right_memory;
  thread_local TileVector<float> sums_memory;
  const std::int64_t n = std::min(tile_order, c.columns - j);
  const std::int64_t width = round_up(n, tile_unit);
  Bfloat16* right = room(right_memory, inner_ * width);
  float* sums = room(sums_memory, tile_order * tile_order);
  gather(u.block(0, j, inner_, n), width, right);
  for (std::int64_t i = begin; i < begin + rows; i += tile_order) {
    const std::int64_t m = std::min(tile_order, begin + rows - i);
    const std::int64_t height = round_up(m, tile_unit);
    for (std::int64_t k = 0; k < inner_; k += tile_inner)
      multiply_tile({height, width, std::min(tile_inner, inner_ - k), k > 0}, packed(i, k),
                    right + k * width, sums);
    add_tile(sums, height, c.block(i, j, m, n));
  }
}

}  // namespace speedwell
