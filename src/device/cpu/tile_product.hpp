// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Products of BF16 tiles by oneDNN. It multiplies two to five times as fast where the left factor
/// has the order in which the processor's instructions read it, and the other matrices have no gaps
/// between their columns, as where it has to copy both factors in each call.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "core/allocator.hpp"
#include "core/matrix_view.hpp"
#include "core/numbers.hpp"
#include "core/scalar.hpp"

namespace speedwell {

/// The rows and columns of a tile's product are multiples of this.
constexpr std::int64_t tile_unit = 64;
/// A tile of so many rows and columns, each the sum of so many products, fits into a core's L2
/// cache with its factors.
constexpr std::int64_t tile_order = 256;
constexpr std::int64_t tile_inner = 512;

/// Memory that begins with a cache line: AMX takes twice as long to load rows across two lines.
struct LineMemory {
  static constexpr std::align_val_t line{64};
  static void* take(std::size_t bytes) { return ::operator new(bytes, line); }
  static void give_back(void* block, std::size_t) { ::operator delete(block, line); }
};
template <class T>
using TileVector = std::vector<T, Allocator<T, LineMemory>>;

/// The memory of a vector that keeps its size and contents between uses, for so many elements.
template <class T>
T* room(TileVector<T>& memory, std::int64_t elements) {
  if (const auto size = static_cast<std::size_t>(elements); memory.size() < size)
    memory.resize(size);
  return memory.data();
}

/// Elements of an m x k matrix that is packed for multiply_tile().
constexpr std::int64_t packed_elements(std::int64_t m, std::int64_t k) {
  return round_up(m, tile_unit) * round_up(k, std::int64_t{32});
}

/// Packs A (m x k): 64 rows after the other, of these two columns after the other, of these row
/// after row. Rows and columns beyond A are zero. Thus each 64 rows begin packed_elements(64, k)
/// behind the last ones. It is what oneDNN calls BA16a64b2a of A^T.
void pack_tile(MatrixView<const Bfloat16> a, Bfloat16* packed);

/// The product of A (m x k) and B (k x n). @pre m and n are multiples of tile_unit
struct TileProduct {
  std::int64_t m = 0, n = 0, k = 0;
  bool add = false;  ///< whether the product is added to C; else C need not be initialized

  auto operator<=>(const TileProduct&) const = default;
};

/// C <- A B with sums in FP32, or C <- C + A B, on the calling thread. All three matrices are
/// fastest as TileVector.
/// @param packed  A, as pack_tile() makes it
/// @param b, c  the columns of B and of C, one right after the other
/// @throws Fault without memory, or where tiles_exist() is false
void multiply_tile(const TileProduct& product, const Bfloat16* packed, const Bfloat16* b, float* c);

/// C <- C + T, T the m x n part of a product of multiply_tile() whose columns are ld elements
/// apart.
void add_tile(const float* t, std::int64_t ld, MatrixView<float> c);

/// Whether multiply_tile() works here: with oneDNN, native BF16, and a product that reads tiles.
bool tiles_exist();
/// Whether products by tiles are clearly faster here than those of onednn_multiply_add(): measured
/// once, which takes some milliseconds. False if there are none.
bool tiles_pay();

}  // namespace speedwell
