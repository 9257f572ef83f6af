// SPDX-License-Identifier: BSD-3-Clause
#include "calibrate/pair_times.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "comm/messages.hpp"
#include "core/expects.hpp"
#include "core/fastest.hpp"

namespace speedwell {

namespace {

constexpr std::size_t calls_at_once = 32;
constexpr int tests_at_once = 200;
constexpr int rounds = 3;

/// One of the two ranks.
class Partner {
 public:
  Partner(const Communicator& all, int other, const Clock& clock)
      : all_(all), first_(all.rank() == 0), peer_(first_ ? other : 0), clock_(clock) {}

  /// Seconds of `work`, which both ranks do.
  template <class Work>
  double seconds_of(const Work& work) const {
    return fastest(clock_, 0, work, 1);
  }
  /// Seconds of starting one message, of the fastest of some rounds.
  double message() const {
    std::vector<std::byte> memory(2 * calls_at_once);
    const std::span bytes(memory);
    double best = HUGE_VAL;
    for (int round = 0; round < rounds; ++round) {
      Messages messages(all_, Messages::first_tag);
      best = std::min(best, seconds_of([&] {
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
  /// Seconds of a test, of the fastest of some rounds. The other rank sends when rank 0 has tested.
  double test() const {
    double best = HUGE_VAL;
    for (int round = 0; round < rounds; ++round) {
      std::byte go{};
      std::byte answer{};
      if (first_) {
        Messages messages(all_, Messages::first_tag);
        messages.receive({&answer, 1}, peer_);
        best = std::min(best, seconds_of([&] {
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

PairTimes pair_times(const Communicator& all, int other, const Clock& clock) {
  SPEEDWELL_EXPECTS(other > 0 && other < all.size());
  PairTimes times;
  if (all.rank() == 0 || all.rank() == other) {
    const Partner partner(all, other, clock);
    times.message = partner.message();
    times.test = partner.test();
  }
  all.barrier_asleep();
  all.broadcast(std::span(&times, 1), 0);
  return times;
}

}  // namespace speedwell
