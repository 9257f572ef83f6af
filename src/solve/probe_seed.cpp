// SPDX-License-Identifier: BSD-3-Clause
#include "solve/probe_seed.hpp"

#include <array>
#include <span>

#include "comm/agreement.hpp"
#include "core/random.hpp"
#include "host/process_seed.hpp"

namespace speedwell {

std::uint64_t agreed_seed(const Communicator& all, std::uint64_t mine) {
  if (all.size() == 1) return mine != 0 ? mine : process_seed();
  std::uint64_t seed = agreed(all, [&] { return mine != 0 ? mine : process_seed(); });
  all.broadcast(std::span(&seed, 1), 0);
  return seed;
}

std::uint64_t seed_for(const Communicator& all, std::uint64_t seed, std::uint64_t bits) {
  // Halves, whose sums over ranks do not overflow.
  std::array<std::int64_t, 2> halves{static_cast<std::int64_t>(bits & 0xffffffff),
                                     static_cast<std::int64_t>(bits >> 32)};
  if (all.size() > 1) all.all_reduce(halves, Reduction::sum);
  const std::uint64_t of_a =
      static_cast<std::uint64_t>(halves[0]) + (static_cast<std::uint64_t>(halves[1]) << 32);
  return mixed_bits(seed ^ mixed_bits(of_a));
}

}  // namespace speedwell
