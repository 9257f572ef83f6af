// SPDX-License-Identifier: BSD-3-Clause
#include "solve/checksum.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "comm/agreement.hpp"
#include "device/checksum_keys.hpp"

namespace speedwell {

namespace {

std::vector<std::uint64_t> sums_of(const Communicator& all, Device& device, ConstAnyMatrix a) {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(a.columns) + 1);
  agree(all, [&] {
    const Buffer found = device.allocate(std::ssize(sums) * 8);
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

MatrixChecksum Checksum::whole() const {
  const std::int64_t columns = std::ssize(sums_) - 1;
  const KeysOfPlaces keys(0, columns);
  MatrixChecksum whole{sums_.back(), 0};
  for (std::size_t j = 0; j < keys.columns.size(); ++j) whole.places += keys.columns[j] * sums_[j];
  return whole;
}

std::string Checksum::where_changed(const Communicator& all, Device& device, ConstAnyMatrix a,
                                    const Distribution& columns, std::string_view column,
                                    std::optional<MatrixChecksum> seen) const {
  const bool read_otherwise = seen && *seen != whole();
  if (all.all_reduce(std::int64_t{!seen || read_otherwise}, Reduction::max) == 0) return "";
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::uint64_t> now = sums_of(all, device, a);
  const std::int64_t differs = std::ranges::mismatch(sums_, now).in1 - sums_.begin();
  // The column n stands for one that is not known.
  const std::int64_t n = columns.size();
  std::int64_t first = none;
  if (differs < a.columns)
    first = columns.global({differs}).value;
  else if (differs == a.columns || read_otherwise)
    first = n;
  if (first != none) first += all.rank() * (n + 1);
  const std::int64_t of_all = all.all_reduce(first, Reduction::min);
  if (of_all == none) return "";
  const std::int64_t rank = of_all / (n + 1);
  const std::int64_t place = of_all % (n + 1);
  if (place == n) return fmt::format("a {} of rank {}'s part", column, rank);
  return fmt::format("{} {} (counted from 1) of rank {}'s part", column, place + 1, rank);
}

}  // namespace speedwell
