// SPDX-License-Identifier: BSD-3-Clause
#include "core/random.hpp"

#include <complex>
#include <cstdint>
#include <set>

#include "catch.hpp"
#include "host/process_seed.hpp"

namespace speedwell::test::random_tests {

TEST_CASE("random bits differ by their seed, their use and their place") {
  std::set<std::uint64_t> all;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (const ProbeUse use : {ProbeUse::quick, ProbeUse::inverse, ProbeUse::norm, ProbeUse::sketch,
                               ProbeUse::rotations, ProbeUse::sample})
      for (std::uint64_t place = 0; place < 20; ++place) all.insert(Probes(seed, use).bits(place));
  CHECK(all.size() == 20 * 6 * 20);
  const Probes probes(7, ProbeUse::norm);
  CHECK(probes.bits(3) == Probes(7, ProbeUse::norm).bits(3));
  CHECK(probes.number<std::complex<double>>(3) ==
        std::complex<double>(probes.number(6), probes.number(7)));
}

TEST_CASE("a process has one seed, which every reader of JSON has exactly") {
  CHECK(process_seed() == process_seed());
  CHECK(process_seed() >= 1);
  CHECK(process_seed() < std::uint64_t{1} << 53);
}

}  // namespace speedwell::test::random_tests
