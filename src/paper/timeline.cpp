// SPDX-License-Identifier: BSD-3-Clause
#include "paper/timeline.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/expects.hpp"

namespace speedwell::paper {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
// Operations with smaller parts wait: a GPU gives whole multiprocessors.
constexpr double least_part = 1. / 256;
// Two operations of a stream with a shorter pause between them count as one use.
constexpr double short_pause = 20e-6;
// Of a time: shorter spans are what rounding leaves of operations.
constexpr double rounding = 1e-12;

}  // namespace

int Timeline::add(int priority) {
  streams_.push_back({.priority = priority});
  return static_cast<int>(streams_.size()) - 1;
}

void Timeline::run(int stream, double now, const Load& load) {
  give(stream, {.kind = Kind::work, .given = now, .load = load});
}

MomentPtr Timeline::record(int stream, double now) {
  auto moment = std::make_shared<Moment>();
  give(stream, {.kind = Kind::record, .given = now, .moment = moment});
  return moment;
}

void Timeline::wait(int stream, const MomentPtr& moment) {
  give(stream, {.kind = Kind::wait, .moment = moment});
}

void Timeline::pause(int stream, double now, std::function<void(double)> begin) {
  give(stream, {.kind = Kind::pause, .given = now, .begin = std::move(begin)});
}

void Timeline::resume(int stream, double time) {
  Stream& s = at(stream);
  SPEEDWELL_EXPECTS(s.paused);
  s.paused = false;
  s.end = std::max(s.end, time);
  s.items.pop_front();
  advance(stream);
}

void Timeline::give(int stream, Item item) {
  at(stream).items.push_back(std::move(item));
  if (at(stream).items.size() == 1) advance(stream);
}

void Timeline::advance(int stream) {
  Stream& s = at(stream);
  while (!s.items.empty() && !s.paused && pass(stream, s.items.front())) s.items.pop_front();
}

// Schedules one item. False if it waits for something.
bool Timeline::pass(int stream, Item& item) {
  Stream& s = at(stream);
  const double begin = std::max(s.end, item.given);
  switch (item.kind) {
    case Kind::work:
      schedule(s, item.load, begin);
      return true;
    case Kind::record:
      settle(*item.moment, begin);
      return true;
    case Kind::wait:
      if (!item.moment->known) {
        item.moment->streams.push_back(stream);
        return false;
      }
      s.end = std::max(s.end, item.moment->time);
      return true;
    case Kind::pause: {
      s.paused = true;
      s.end = begin;
      // It may resume the stream at once, which takes the item away.
      const auto begin_pause = std::move(item.begin);
      begin_pause(begin);
      return false;
    }
  }
  return true;
}

void Timeline::settle(Moment& moment, double time) {
  moment.known = true;
  moment.time = time;
  for (const int stream : std::exchange(moment.streams, {})) advance(stream);
  if (moment.on_known) std::exchange(moment.on_known, {})();
}

double Timeline::seconds(const Load& load, double part) const {
  const double rate = limits_.bandwidth * std::min(1., part / limits_.bandwidth_part);
  return std::max(load.compute / part, load.bytes / rate);
}

// The free part may change while the operation runs: it then goes on with the new part.
void Timeline::schedule(Stream& stream, const Load& load, double begin) {
  const double first = begin + load.start;
  double time = first;
  for (double left = 1; left > 0;) {
    const Free free = free_for(stream, time);
    const double part = std::min(load.part, free.part);
    if (part < std::min(least_part, load.part)) {
      time = free.until;
      continue;
    }
    const double all = seconds(load, part);
    const double wanted = time + left * all;
    const double end = std::min(wanted, free.until);
    use(stream, time, end, part);
    left = wanted - end > rounding * end ? left - (end - time) / all : 0;
    time = end;
  }
  stream.busy += time - first;
  stream.end = time;
}

// What streams leave free at `time`, and until when.
Timeline::Free Timeline::free_for(const Stream& stream, double time) const {
  Free free{1, never};
  for (const Stream& other : streams_) {
    if (&other == &stream || (!limits_.holds && other.priority < stream.priority)) continue;
    for (const Use& use : other.uses) {
      if (use.end <= time) continue;
      if (use.begin > time) {
        free.until = std::min(free.until, use.begin);
        break;
      }
      free.part -= use.part;
      free.until = std::min(free.until, use.end);
    }
  }
  return free;
}

void Timeline::use(Stream& stream, double begin, double end, double part) {
  if (end <= begin) return;
  if (!limits_.holds) displace(stream, begin, end, part);
  auto& uses = stream.uses;
  while (!uses.empty() && uses.front().end < past_) uses.pop_front();
  if (!uses.empty() && uses.back().part == part && begin - uses.back().end < short_pause)
    uses.back().end = end;
  else
    uses.push_back({begin, end, part});
}

// Streams of lower priority lose what the use takes from them, and end later.
void Timeline::displace(const Stream& stream, double begin, double end, double part) {
  for (Stream& other : streams_) {
    if (other.priority >= stream.priority) continue;
    double lost = 0;
    for (const Use& use : other.uses) {
      const double together = std::min(end, use.end) - std::max(begin, use.begin);
      const double excess = part + use.part - 1;
      if (together > 0 && excess > 0) lost += together * excess / use.part;
    }
    if (lost == 0) continue;
    other.uses.back().end += lost;
    other.end = std::max(other.end, other.uses.back().end);  // it may wait for a moment until then
  }
}

}  // namespace speedwell::paper
