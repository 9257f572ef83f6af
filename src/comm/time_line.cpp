// SPDX-License-Identifier: BSD-3-Clause
#include "comm/time_line.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <span>

namespace speedwell {

namespace {

constexpr int tries = 8;

template <class T>
void send(const Communicator& all, const T& values, int to) {
  all.send(std::as_bytes(std::span(values)), to);
}

template <class T>
void receive(const Communicator& all, T& values, int from) {
  all.receive(std::as_writable_bytes(std::span(values)), from);
}

}  // namespace

// Rank 0 asks one rank after the other, since it alone can time a round trip. It then sends the
// rank its offset and error.
TimeLine::Reading TimeLine::read() const {
  std::array<double, 1> answer{};
  std::array<double, 2> found{};  // offset and error
  if (all_.rank() != 0) {
    for (int i = 0; i < tries; ++i) {
      receive(all_, answer, 0);
      answer[0] = clock_.now();
      send(all_, answer, 0);
    }
    receive(all_, found, 0);
    return {clock_.now(), found[0], found[1]};
  }
  for (int rank = 1; rank < all_.size(); ++rank) {
    found = {0, std::numeric_limits<double>::infinity()};
    for (int i = 0; i < tries; ++i) {
      const double begin = clock_.now();
      send(all_, answer, rank);
      receive(all_, answer, rank);
      const double end = clock_.now();
      if ((end - begin) / 2 < found[1]) found = {answer[0] - (begin + end) / 2, (end - begin) / 2};
    }
    if (std::fabs(found[0]) <= found[1]) found[0] = 0;
    send(all_, found, rank);
  }
  return {clock_.now(), 0, 0};
}

TimeLine::TimeLine(const Communicator& all, const Clock& clock)
    : all_(all), clock_(clock), first_(read()) {}

void TimeLine::end() {
  const Reading last = read();
  const double gained = last.offset - first_.offset;
  const bool drifts = std::fabs(gained) > first_.error + last.error && last.time > first_.time;
  drift_ = drifts ? gained / (last.time - first_.time) : 0;
}

double TimeLine::on_rank_0(double time) const {
  return time - first_.offset - drift_ * (time - first_.time);
}

}  // namespace speedwell
