#include "bench/defaults.hpp"

#include <algorithm>

namespace lupine {

std::int64_t default_nb(std::int64_t n, Precision precision, bool native, const GridShape& shape) {
  // A faster update has to be fed with a longer sum to stay ahead of reading and writing C.
  const std::int64_t largest = native && precision == Precision::bf16 ? 1024 : 512;
  constexpr std::int64_t unit = 32;
  constexpr std::int64_t blocks_a_rank = 8;
  const std::int64_t share = n / (blocks_a_rank * std::max(shape.rows, shape.columns));
  const std::int64_t rounded = (share + unit - 1) / unit * unit;
  return std::min(n, std::clamp(rounded, unit, largest));
}

}  // namespace lupine
