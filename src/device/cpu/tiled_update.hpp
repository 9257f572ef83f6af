// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The update of a matrix by BF16 products, in tiles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "device/cpu/tile_product.hpp"

namespace speedwell {

/// Packs some rows of L, and adds their products with many columns of U.
class TiledUpdate {
 public:
  /// The most rows of an L of k columns that are packed at once, a multiple of tile_order: they
  /// take some 8 MiB, but at least tile_order rows.
  static constexpr std::int64_t rows_at_once(std::int64_t k) {
    constexpr std::int64_t elements = std::int64_t{4} << 20;
    return std::max(elements / std::max(k, tile_unit) / tile_order, std::int64_t{1}) * tile_order;
  }
  /// Bytes of memory for m packed rows, at most rows_at_once(k) of them.
  static constexpr std::int64_t bytes(std::int64_t m, std::int64_t k) {
    return packed_elements(std::min(m, rows_at_once(k)), k) * std::int64_t{sizeof(Bfloat16)};
  }

  /// Packs l, by all threads. @param memory of so many bytes, which must stay
  TiledUpdate(MatrixView<const Bfloat16> l, Bfloat16* memory);

  /// C <- C + L U, by all threads. Each element is the sum in FP32 of its products, added to C.
  /// @throws Fault as multiply_tile()
  void add(MatrixView<const Bfloat16> u, MatrixView<float> c) const;

 private:
  /// add() for these rows and the column of tiles that begins with column j.
  void add_tiles(MatrixView<const Bfloat16> u, MatrixView<float> c, std::int64_t begin,
                 std::int64_t rows, std::int64_t j) const;
  /// The packed tile that begins with element (i, k). @pre multiples of tile_unit and tile_inner
  Bfloat16* packed(std::int64_t i, std::int64_t k) const;

  Bfloat16* packed_;
  std::int64_t rows_, inner_;
};

}  // namespace speedwell
