// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/pair_times.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "comm/agreement.hpp"
#include "comm/messages.hpp"
#include "core/expects.hpp"
#include "core/fastest.hpp"

namespace speedwell {

namespace {

constexpr int trips_at_once = 10;
constexpr std::size_t calls_at_once = 32;
constexpr int tests_at_once = 200;
constexpr int least_exchanges = 3;
constexpr int most_exchanges = 1000;

/// One of the two ranks.
class Partner {
 public:
  Partner(const Communicator& all, int other, const Clock& clock)
      : all_(all), first_(all.rank() == 0), peer_(first_ ? other : 0), clock_(clock) {}

  /// The fastest of `rounds` measurements of `work`, which both ranks do.
  template <class Work>
  double fastest_of(int rounds, const Work& work) const {
    return fastest(clock_, 0, work, rounds);
  }
  /// As many rounds as rank 0 finds to fit in `seconds`.
  template <class Work>
  double fastest_in(double seconds, const Work& work) const {
    const double once = fastest_of(1, work);
    std::int64_t rounds = std::clamp(static_cast<int>(std::min(seconds / once, 1e6)),
                                     least_exchanges, most_exchanges);
    const auto bytes = std::as_writable_bytes(std::span(&rounds, 1));
    first_ ? all_.send(bytes, peer_) : all_.receive(bytes, peer_);
    return fastest_of(static_cast<int>(rounds), work);
  }

  /// To the other rank and back.
  void trip(std::span<std::byte> bytes) const {
    Messages messages(all_, Messages::first_tag);
    for (const bool sends : {first_, !first_}) {
      sends ? messages.send(bytes, peer_) : messages.receive(bytes, peer_);
      while (!messages.test()) {
      }
    }
  }
  /// Seconds of starting one message, of the fastest of `rounds`.
  double message(int rounds) const {
    std::vector<std::byte> memory(2 * calls_at_once);
    const std::span bytes(memory);
    double best = HUGE_VAL;
    for (int round = 0; round < rounds; ++round) {
      Messages messages(all_, Messages::first_tag);
      best = std::min(best, fastest_of(1, [&] {
                        for (std::size_t i = 0; i < calls_at_once; ++i) {
                          messages.receive(bytes.subspan(2 * i, 1), peer_);
                          messages.send(bytes.subspan(2 * i + 1, 1), peer_);
                        }
                      }));
      while (!messages.test()) {
      }
    }
    return best / static_cast<double>(2 * calls_at_once);
  }
  /// Seconds of a test, of the fastest of `rounds`. The other rank sends when rank 0 has tested.
  double test(int rounds) const {
    double best = HUGE_VAL;
    for (int round = 0; round < rounds; ++round) {
      std::byte go{};
      std::byte answer{};
      if (first_) {
        Messages messages(all_, Messages::first_tag);
        messages.receive({&answer, 1}, peer_);
        best = std::min(best, fastest_of(1, [&] {
                          for (int i = 0; i < tests_at_once; ++i) messages.test();
                        }));
        all_.send({&go, 1}, peer_);
        while (!messages.test()) {
        }
      } else {
        all_.receive({&go, 1}, peer_);
        Messages messages(all_, Messages::first_tag);
        messages.send({&answer, 1}, peer_);
        while (!messages.test()) {
        }
      }
    }
    return best / tests_at_once;
  }

 private:
  const Communicator& all_;
  bool first_;
  int peer_;
  const Clock& clock_;
};

}  // namespace

PairTimes pair_times(const Communicator& all, int other, std::int64_t bytes, double seconds,
                     const Clock& clock) {
  SPEEDWELL_EXPECTS(other > 0 && other < all.size() && bytes > 0);
  const bool takes_part = all.rank() == 0 || all.rank() == other;
  std::vector<std::byte> memory = agreed(all, [&] {
    return std::vector<std::byte>(takes_part ? static_cast<std::size_t>(bytes) : 0);
  });
  PairTimes times;
  if (takes_part) {
    const Partner partner(all, other, clock);
    const double trips = partner.fastest_in(seconds / 2, [&] {
      for (int i = 0; i < trips_at_once; ++i) partner.trip({});
    });
    times.latency = trips / (2 * trips_at_once);
    const double large = partner.fastest_in(seconds / 2, [&] { partner.trip(memory); });
    times.bandwidth = static_cast<double>(bytes) / std::max(large / 2 - times.latency, large / 20);
    times.message = partner.message(least_exchanges);
    times.test = partner.test(least_exchanges);
  }
  all.barrier_asleep();
  all.broadcast(std::span(&times, 1), 0);
  return times;
}

}  // namespace speedwell
