// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// When the operations of a simulated GPU begin and end: streams that run operations in order, side
/// by side on the multiprocessors of one GPU. Pure arithmetic: no simulator, no MPI.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace speedwell::paper {

/// A point in a stream's order. Its time is known once all that comes before it is scheduled.
struct Moment {
  bool known = false;
  double time = 0;
  std::vector<int> streams;        ///< that wait for it
  std::function<void()> on_known;  ///< called once, when the time becomes known; may be empty
};
using MomentPtr = std::shared_ptr<Moment>;

/// What an operation asks of a GPU.
struct Load {
  double start = 0;    ///< seconds before and after its work, in which it uses no multiprocessor
  double compute = 0;  ///< seconds of arithmetic with all multiprocessors
  double bytes = 0;    ///< that it moves in the GPU's memory
  double part = 1;     ///< of the multiprocessors that it can use at most, in (0, 1]
};

/// The streams of one GPU. An operation begins when the one before it in its stream has ended, when
/// the moments for which the stream waits have passed, and not before the host has given it. With a
/// part p of the multiprocessors it takes
///     max(compute / p, bytes / (bandwidth min(1, p / bandwidth_part))) + start.
/// Operations get the part that is free when they run: the first come, the first served. If
/// products do not hold their multiprocessors, an operation takes what it can use from streams of
/// lower priority, and these end later by the work that they lose.
class Timeline {
 public:
  struct Limits {
    double bandwidth = 1;       ///< bytes a second
    double bandwidth_part = 1;  ///< of the multiprocessors that saturates the bandwidth
    bool holds = true;          ///< whether products hold their multiprocessors to their end
  };
  explicit Timeline(const Limits& limits) : limits_(limits) {}

  /// A new stream; returns its number. @param priority higher ones are served first
  int add(int priority);

  /// Gives the stream an operation. @param now when the host gives it
  void run(int stream, double now, const Load& load);
  /// The moment behind all operations given so far.
  MomentPtr record(int stream, double now);
  /// Operations given from now on begin after the moment.
  void wait(int stream, const MomentPtr& moment);
  /// An operation that ends when resume() is called: begin(t) is called as soon as its beginning t
  /// is known.
  void pause(int stream, double now, std::function<void(double)> begin);
  /// Ends the operation that has paused the stream. @param time at or after its beginning
  void resume(int stream, double time);

  /// Forgets what ended before: no operation will begin earlier.
  void forget(double past) { past_ = past; }
  /// Seconds in which the stream's operations ran, so far scheduled.
  double busy(int stream) const { return streams_[static_cast<std::size_t>(stream)].busy; }

 private:
  enum class Kind : std::uint8_t { work, record, wait, pause };
  struct Item {
    Kind kind = Kind::work;
    double given = 0;
    Load load{};
    MomentPtr moment{};
    std::function<void(double)> begin{};
  };
  // A span of time in which a stream uses a part of the multiprocessors.
  struct Use {
    double begin = 0;
    double end = 0;
    double part = 0;
  };
  struct Stream {
    int priority = 0;
    double end = 0;  // of all that is scheduled
    double busy = 0;
    bool paused = false;  // by an operation that has begun
    std::deque<Item> items{};
    std::deque<Use> uses{};
  };
  struct Free {
    double part = 1;
    double until = 0;
  };

  Stream& at(int stream) { return streams_[static_cast<std::size_t>(stream)]; }
  void give(int stream, Item item);
  void advance(int stream);
  bool pass(int stream, Item& item);
  void schedule(Stream& stream, const Load& load, double begin);
  Free free_for(const Stream& stream, double time) const;
  void use(Stream& stream, double begin, double end, double part);
  void displace(const Stream& stream, double begin, double end, double part);
  double seconds(const Load& load, double part) const;
  void settle(Moment& moment, double time);

  Limits limits_;
  double past_ = 0;
  std::deque<Stream> streams_;  // references stay valid
};

}  // namespace speedwell::paper
