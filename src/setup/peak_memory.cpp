// SPDX-License-Identifier: BSD-3-Clause
#include "setup/peak_memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "core/numbers.hpp"
#include "setup/memory.hpp"

namespace speedwell {

namespace {

std::optional<RankBytes> largest(const Communicator& all, std::optional<std::int64_t> mine) {
  const double own = mine ? static_cast<double>(*mine) : unknown;
  const std::vector<double> bytes = all.all_gather(std::array{own});
  if (std::any_of(bytes.begin(), bytes.end(), [](double one) { return std::isnan(one); }))
    return std::nullopt;
  const auto most = std::max_element(bytes.begin(), bytes.end());
  return RankBytes{*most, static_cast<int>(most - bytes.begin())};
}

}  // namespace

ResidentMeter::ResidentMeter() : begun_(forget_resident_peak()) {}

std::optional<std::int64_t> ResidentMeter::most() const {
  return begun_ ? resident_peak() : std::nullopt;
}

PeakMemory peak_memory(const Communicator& all, const ResidentMeter& resident,
                       std::optional<std::int64_t> device) {
  return {largest(all, resident.most()), largest(all, device)};
}

}  // namespace speedwell
