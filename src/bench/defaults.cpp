#include "bench/defaults.hpp"

#include <algorithm>

namespace lupine {

namespace {
// A faster update has to be fed with a longer sum to stay ahead of reading and writing C: a GPU
// needs 700 columns for its memory to keep up with its tensor cores, and more not to notice.
std::int64_t largest_nb(Precision precision, DeviceKind device, bool native) {
  if (precision == Precision::fp64) return device == DeviceKind::cuda ? 1024 : 384;
  if (device == DeviceKind::cuda) return 2048;
  return native && precision == Precision::bf16 ? 1024 : 512;
}
}  // namespace

std::int64_t default_nb(std::int64_t n, Precision precision, DeviceKind device, bool native,
                        const GridShape& shape) {
  const std::int64_t largest = largest_nb(precision, device, native);
  constexpr std::int64_t unit = 32;
  constexpr std::int64_t blocks_a_rank = 8;
  const std::int64_t share = n / (blocks_a_rank * std::max(shape.rows, shape.columns));
  const std::int64_t rounded = (share + unit - 1) / unit * unit;
  return std::min(n, std::clamp(rounded, unit, largest));
}

}  // namespace lupine
