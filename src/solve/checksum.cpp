// SPDX-License-Identifier: BSD-3-Clause
#include "solve/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "comm/agreement.hpp"

namespace lupine {

namespace {

std::vector<std::uint64_t> sums_of(const Communicator& all, Device& device, ConstAnyMatrix a) {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(a.columns));
  agree(all, [&] {
    const Buffer found = device.allocate(std::max<std::int64_t>(a.columns, 1) * 8);
    const auto queue = device.make_queue(Priority::normal);
    device.checksums_of_columns(*queue, a, found.as<std::uint64_t>());
    device.download(*queue, found.as<std::uint64_t>(), sums);
  });
  return sums;
}

}  // namespace

Checksum Checksum::of(const Communicator& all, Device& device, ConstAnyMatrix a) {
  return Checksum(sums_of(all, device, a));
}

std::string Checksum::where_changed(const Communicator& all, Device& device, ConstAnyMatrix a,
                                    const Distribution& columns, std::string_view column,
                                    std::optional<std::uint64_t> seen) const {
  const std::uint64_t total = std::accumulate(sums_.begin(), sums_.end(), std::uint64_t{0});
  const std::int64_t differs = seen == total ? 0 : 1;
  if (all.all_reduce(differs, Reduction::max) == 0) return "";
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::uint64_t> now = sums_of(all, device, a);
  const auto changed = std::ranges::mismatch(sums_, now).in1;
  const std::int64_t n = columns.size();
  const std::int64_t first = changed == sums_.end()
                                 ? none
                                 : all.rank() * n + columns.global({changed - sums_.begin()}).value;
  const std::int64_t of_all = all.all_reduce(first, Reduction::min);
  if (of_all == none) return "";
  return fmt::format("{} {} (counted from 1) of rank {}'s part", column, of_all % n + 1,
                     of_all / n);
}

}  // namespace lupine
