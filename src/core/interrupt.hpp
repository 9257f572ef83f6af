// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Whether a call of the library is to end early.
#pragma once

#include <speedwell/progress.hpp>

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "core/clock.hpp"

namespace speedwell {

/// The state of one rank. Once it has ended, operations of its device return without a result, so
/// that all work drains quickly; the ranks then agree on the end (comm/interruption.hpp), and
/// nobody reads what the operations have left.
class Interrupt {
 public:
  /// Seconds between two calls of the function, at least.
  static constexpr double pause = 0.05;
  /// Called where the function is called, and once when this rank ends. Tells the other ranks
  /// whether this one has ended, and returns whether one of them has.
  using Exchange = std::function<bool(bool ended)>;

  /// @param function asked whether to end; empty: never
  Interrupt(InterruptFunction function, const Clock& clock, Exchange exchange = {});
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  /// Begins a call of the library on this thread, which alone asks the function from now on.
  void begin();
  /// Ends that call: the function is no longer asked.
  void finish() { caller_ = {}; }

  /// Whether to end: remains true until the next begin(). The calling thread asks the function if
  /// `pause` has passed; other threads take little time.
  bool ended();
  /// Ends this rank. On the calling thread.
  void end();
  /// Calls a caller's function, whose exception ends this rank. The first one is kept.
  template <class Work>
  void call(const Work& work) {
    std::exception_ptr thrown;
    try {
      work();
    } catch (...) {
      thrown = std::current_exception();
    }
    if (thrown) fail(std::move(thrown));  // here: no MPI call inside a catch
  }
  /// The exception of call(); null: none.
  std::exception_ptr thrown() const { return thrown_; }

  /// Says how far a factorization is.
  void reach(std::int64_t columns, std::int64_t n) {
    columns_ = columns;
    n_ = n;
  }
  /// The columns that reach() has named; -1: none in this call.
  std::int64_t columns() const { return columns_; }
  std::int64_t n() const { return n_; }

 private:
  void fail(std::exception_ptr thrown);

  InterruptFunction function_;
  const Clock& clock_;
  Exchange exchange_;
  std::thread::id caller_;
  double next_ = 0;  // time of the next question
  std::atomic<bool> ended_ = false;
  std::exception_ptr thrown_;
  std::int64_t columns_ = -1;
  std::int64_t n_ = 0;
};

/// Whether to end, for what may be interrupted or, where `interrupt` is null, not.
inline bool has_ended(Interrupt* interrupt) {
  return interrupt != nullptr && interrupt->ended();
}

}  // namespace speedwell
